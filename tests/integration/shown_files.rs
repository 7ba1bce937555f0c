//! What is in a file that a call would change: it is shown inside the project only, never a secret, and never waited for.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::commands::{exits, run};
use crate::kinds::ATTENDED;
use crate::world::{Hook, World};

/// A permission to replace this file, asked for in this directory.
fn replace(world: &mut World, directory: &Path, file: &Path, id: &str) -> (Hook, Value) {
    let hook = ATTENDED.ask_in(world, directory, "Write", &json!({"file_path": file, "content": "new\n"}), id);
    let key = format!("s__{id}");
    (hook, world.get(&format!("/v1/asks/{key}")).json())
}

#[test]
fn only_what_is_in_the_project_and_no_secret_is_shown() {
    let mut world = World::new();
    drop(world.daemon());
    let (home, shop) = (world.home().to_path_buf(), world.home().join("shop"));
    let put = |name: &str| {
        let file = home.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "the old text\n").unwrap();
        file
    };
    put("shop/.git/HEAD");
    put("other/notes.txt");
    symlink(home.join("other"), shop.join("link")).unwrap();
    fs::create_dir(shop.join("src")).unwrap();
    let shown = [
        (shop.clone(), put("shop/price.txt")),
        (shop.join("src"), put("shop/price.txt")),
        (shop.clone(), shop.join("src/../price.txt")),
        (home.clone(), put("other/notes.txt")),
    ];
    let hidden = [
        (shop.clone(), put("other/notes.txt")),
        (shop.clone(), shop.join("../other/notes.txt")),
        (shop.clone(), shop.join("link/notes.txt")),
        (shop.clone(), put("shop/.env")),
        (shop.clone(), put("shop/.env.local")),
        (shop.clone(), put("shop/certificates/Server.KEY")),
        (shop.clone(), put("shop/credentials.json")),
        (home.clone(), put(".ssh/config")),
        (home.clone(), put(".netrc")),
        (home.clone(), put(".local/state/answerback/backups/a")),
        (home.clone(), world.state("tokens.json")),
    ];
    let secrets = [world.token(), "the old text".to_owned()];
    for (number, (directory, file)) in shown.iter().chain(&hidden).enumerate() {
        let (_hook, ask) = replace(&mut world, directory, file, &format!("t{number}"));
        let (printed, _) = exits(&run(&world, &["show", &format!("s__t{number}")]), 0);
        let is_shown = number < shown.len();
        let all = format!("{ask}\n{printed}");
        assert_eq!(secrets.iter().any(|secret| all.contains(secret)), is_shown, "{}: {all}", file.display());
        assert_eq!(ask["subject"]["diff"]["replacesUnseen"], !is_shown, "{ask}");
        assert_eq!(printed.contains("what is in it now cannot be shown here"), !is_shown, "{printed}");
    }
}

/// A file system that never answers, as a network drive whose server is gone.
struct Hung(std::process::Child, std::path::PathBuf);

impl Hung {
    /// `None` if this user may not mount one.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        // Nobody ever reads from the device. So whoever asks for a file waits until the device is closed.
        let script = "exec 3<>/dev/fuse && mount -i -t fuse -o fd=3,rootmode=40000,user_id=0,group_id=0 none \"$0\" \
                      && echo mounted && exec sleep 600";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(at).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let mut said = String::new();
        let mut stdout = std::io::BufReader::new(server.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut stdout, &mut said).unwrap();
        let mounted = Self(server, at.to_path_buf());
        (said == "mounted\n").then_some(mounted)
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
        drop(Command::new("umount").arg("--lazy").arg(&self.1).stderr(Stdio::null()).status());
    }
}

#[test]
fn a_file_system_that_never_answers_holds_up_neither_a_question_nor_the_end() {
    let mut world = World::new();
    let Some(hung) = Hung::mount(&world.home().join("hung")) else {
        println!("skipped: nothing can be mounted here");
        return;
    };
    let mut daemon = world.daemon();
    let directory = world.home().to_path_buf();
    let (_hook, ask) = replace(&mut world, &directory, &hung.1.join("file"), "t1");
    assert_eq!(ask["subject"]["diff"]["replacesUnseen"], true, "{ask}");
    // A transcript there is not waited for either.
    let extra = json!({"tool_use_id": "t2", "transcript_path": hung.1.join("transcript")});
    let questions = json!({"questions": [crate::world::question("Which?")]});
    let _hook = crate::kinds::HOSTED.call(&mut world, "PreToolUse", "AskUserQuestion", &questions, &extra);
    world.until_open("s__t2");
    for _ in 0..2 {
        world.get("/v1/asks/s__t2/context").expect(200);
    }
    world.stop_daemon(&mut daemon);
}
