//! The set-up of docs/hubs.md, followed word by word. All machines are this one, so the ports and the name of each machine differ from those
//! in the page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::certificate::own_name;
use crate::fleet::make_certificate;
use crate::page::Page;
use crate::ports::unused_port;
use crate::postgres::Engine;
use crate::world::{World, make_program, question};

/// In the place of ssh: runs a command on another machine, which is a directory here.
const SSH: &str = r#"#!/usr/bin/env bash
set -euo pipefail
machine=$1
shift
command=$*
source "$HOME/machines/$machine"
case "$machine $command" in
    hub*config.toml) { printf 'port = 0\nhost_name = "%s"\n' "$machine"; sed "s/:27564/:$LAN_PORT/"; } | bash -c "$command" ;;
    "balancer "*install*) sed "s/bind :443/bind :$LAN_PORT/" | bash -c "$command" ;;
    *) exec bash -c "$command" ;;
esac
"#;

/// Writes what the stand-in for ssh needs to know about a machine.
fn add_machine(admin: &World, name: &str, machine: &World, port: u16, more: &str) {
    let home = machine.home().display();
    let text = format!("cd {home}\nexport HOME={home} LAN_PORT={port}\n{more}\n");
    fs::write(admin.home().join("machines").join(name), text).unwrap();
}

#[test]
fn several_hubs_are_set_up_as_the_page_says() {
    let engine = Engine::new("fsync = on\n");
    let (admin, hub1, hub2) = (World::new(), World::new(), World::new());
    let (balancer, mut edge) = (World::new(), World::new());
    let (name, etc) = (own_name(), tempfile::tempdir().unwrap());
    let [port1, port2, port] = [unused_port(), unused_port(), unused_port()];
    for dir in ["bin", "machines", "shop"] {
        fs::create_dir(admin.home().join(dir)).unwrap();
    }
    make_program(&admin.home().join("bin/ssh"), SSH.as_bytes());
    make_certificate(&admin.home().join("shop"), &name);
    symlink(env!("CARGO_MANIFEST_DIR"), admin.home().join("shop/answerback")).unwrap();
    add_machine(&admin, "hub1", &hub1, port1, "");
    add_machine(&admin, "hub2", &hub2, port2, "");
    add_machine(&admin, "balancer", &balancer, port, "PATH=$PATH:/usr/sbin");
    let trusted = admin.home().join("shop/ca.pem");
    add_machine(&admin, "build-1", &edge, 0, &format!("export SSL_CERT_FILE={}", trusted.display()));
    let (dir, bin) = (engine.dir().display(), engine.programs().display());
    add_machine(
        &admin,
        "db",
        &balancer,
        0,
        &format!("export PGHOST={dir} PGUSER=test PGDATABASE=postgres PATH={bin}:$PATH"),
    );
    // A role that is not the owner needs its password.
    engine.need_password("answerback");

    let mut page = Page::read("docs/hubs.md");
    let socket = engine.dir().to_str().unwrap().replace('/', "%2F");
    for (shown, real) in [
        ("postgres://answerback@db.example.org/", format!("postgres://answerback@{socket}/")),
        ("hub1:27564", format!("127.0.0.1:{port1}")),
        ("hub2:27564", format!("127.0.0.1:{port2}")),
        ("answers.example.org", format!("{name}:{port}")),
        ("/etc/answerback", etc.path().display().to_string()),
    ] {
        page.text = page.text.replace(shown, &real);
    }
    page.run(&admin);

    // It works: what is asked on the machine is answered at the other hub than the one that it was let in at.
    drop(edge.daemon_with(|command| {
        command.env("SSL_CERT_FILE", &trusted);
    }));
    let (hook, key) = edge.ask("s", "t", &[question("Which?")]);
    hub1.until_open(&key);
    hub1.answer(&key, &json!({"Which?": "B"})).expect(200);
    assert_eq!(hook.reply()["updatedInput"]["answers"]["Which?"], "B");
    assert!(Path::new(&hub2.state("daemon.json")).exists());
}
