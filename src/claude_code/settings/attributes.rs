//! What a file has besides its text and its mode: access control lists and extended attributes. A new file that takes the place
//! of an old one has to get the same, or the edit is refused.

use std::fs::File;
use std::io;

use answerback_hook::hint::Hint;

/// An attribute of the old file that the new one cannot have.
#[derive(Debug)]
pub(super) struct NotKept {
    what: String,
    hint: &'static str,
    error: io::Error,
}

impl std::fmt::Display for NotKept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be kept: {}", self.what, self.error)
    }
}

impl std::error::Error for NotKept {}

impl Hint for NotKept {
    fn hint(&self) -> Option<String> {
        Some(self.hint.to_owned())
    }
}

fn not_kept(what: String, hint: &'static str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NotKept { what, hint, error })
}

/// Gives the new file the attributes of the old one, and no others.
pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
    system::copy(old, new)
}

#[cfg(target_os = "linux")]
mod system {
    use std::ffi::CString;
    use std::fs::File;
    use std::io;

    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr};
    use rustix::io::Errno;

    use super::not_kept;

    /// The kernel takes no more, neither for all names nor for one value.
    const MAX_BYTES: usize = 64 * 1024;

    pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
        let wanted = names(old)?;
        for name in names(new)? {
            // The new file may have got an access control list from its directory. Labels are left alone: the kernel gives them.
            if !wanted.contains(&name) && !is_label(&name) {
                fremovexattr(new, name.as_c_str()).map_err(|error| lost(&name, error))?;
            }
        }
        for name in wanted.iter().filter(|name| !is_checksum(name)) {
            let kept = || {
                let Some(value) = value(old, name)? else { return Ok(()) };
                if self::value(new, name)?.as_ref() == Some(&value) {
                    return Ok(());
                }
                fsetxattr(new, name.as_c_str(), &value, XattrFlags::empty())
            };
            kept().map_err(|error| lost(name, error))?;
        }
        Ok(())
    }

    fn lost(name: &CString, error: Errno) -> io::Error {
        let hint = match name.as_bytes() {
            b"system.posix_acl_access" => "If the list is not needed, setfacl -b removes it. Nothing was changed.",
            _ if is_label(name) => "restorecon gives it the usual label. Nothing was changed.",
            _ => "If the attribute is not needed, setfattr -x removes it. Nothing was changed.",
        };
        not_kept(format!("its attribute {}", name.to_string_lossy()), hint, error.into())
    }

    fn is_label(name: &CString) -> bool {
        name.as_bytes().starts_with(b"security.")
    }

    /// A checksum of the text. The text is new, and the kernel makes a new checksum.
    fn is_checksum(name: &CString) -> bool {
        matches!(name.as_bytes(), b"security.ima" | b"security.evm")
    }

    fn names(file: &File) -> io::Result<Vec<CString>> {
        let mut names = vec![0; MAX_BYTES];
        let length = match flistxattr(file, &mut names[..]) {
            // A file system without attributes.
            Err(Errno::NOTSUP) => 0,
            length => length?,
        };
        let names = names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.flat_map(CString::new).collect())
    }

    /// `None` where the attribute is not there.
    fn value(file: &File, name: &CString) -> Result<Option<Vec<u8>>, Errno> {
        let mut value = vec![0; MAX_BYTES];
        match fgetxattr(file, name.as_c_str(), &mut value[..]) {
            Ok(length) => {
                value.truncate(length);
                Ok(Some(value))
            }
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(target_vendor = "apple")]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use super::not_kept;

    #[allow(unsafe_code)]
    pub(super) fn copy(old: &File, new: &File) -> io::Result<()> {
        let flags = libc::COPYFILE_ACL | libc::COPYFILE_XATTR;
        // SAFETY: both descriptors are open, and without a state there is nothing to point to.
        match unsafe { libc::fcopyfile(old.as_raw_fd(), new.as_raw_fd(), std::ptr::null_mut(), flags) } {
            0 => Ok(()),
            _ => {
                let hint = "If they are not needed, chmod -N and xattr -c remove them. Nothing was changed.";
                let what = "its access control list or its attributes".to_owned();
                Err(not_kept(what, hint, io::Error::last_os_error()))
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod system {
    use std::fs::File;
    use std::io;

    pub(super) fn copy(_: &File, _: &File) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::OpenOptions;
    use std::process::Command;

    use rustix::fs::{XattrFlags, fsetxattr};

    use super::super::hint_within;
    use super::*;

    #[test]
    fn what_cannot_be_kept_is_an_error_that_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let old = File::create(dir.path().join("old")).unwrap();
        if fsetxattr(&old, "user.comment", b"mine", XattrFlags::empty()).is_err() {
            eprintln!("SKIPPED: the file system of {} has no attributes", dir.path().display());
            return;
        }
        // Only files and directories can have such attributes.
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let pipe = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let error = copy(&old, &pipe).unwrap_err();
        assert!(error.to_string().contains("user.comment cannot be kept"), "{error}");
        assert!(hint_within::<NotKept>(&error).unwrap().contains("setfattr -x"));
        assert_eq!(hint_within::<NotKept>(&io::ErrorKind::NotFound.into()), None);
    }
}
