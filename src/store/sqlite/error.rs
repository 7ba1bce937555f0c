//! What SQLite says, in the store's words.

use rusqlite::{Error, ErrorCode};

use crate::store::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let said = error.to_string();
        if matches!(error, Error::FromSqlConversionFailure(..)) {
            return Self::DamagedAsk(said);
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(said),
            Some(ErrorCode::DiskFull) => Self::Full(said),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Self::Unreachable(said),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(said),
            _ => Self::Failed(said),
        }
    }
}

/// Whether the file makes no sense to SQLite.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a statement that uses the search index may have failed because of the index. FTS5 has more ways than one to say that it is
/// damaged, so this names what is certainly something else.
pub(super) fn may_be_index_damage(error: &Error) -> bool {
    use ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OperationInterrupted, OutOfMemory, SystemIoFailure,
    };
    !matches!(
        error.sqlite_error_code(),
        Some(
            CannotOpen
                | DatabaseBusy
                | DatabaseLocked
                | DiskFull
                | OperationInterrupted
                | OutOfMemory
                | SystemIoFailure
        )
    )
}

/// Whether a commit that failed like this may be in the file all the same. With a full disk, or a file that another program
/// holds, it is certain that it is not.
pub(super) fn may_have_committed(error: &Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, DiskFull};
    !matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | DiskFull))
}
