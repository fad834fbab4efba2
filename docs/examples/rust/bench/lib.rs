//! The tests as bench.sh runs them: each says what it finds. With ISOLATION=reload they do without the door, in one
//! database into which shop.sql is loaded before each of them, so that one runs after the other.
use std::{env, fs, io::Write, process::Command};

pub fn database(test: &str) -> String {
    let var = |name| env::var(name).unwrap_or_default();
    let plain = var("ISOLATION") == "reload";
    assert!(plain || var("ISOLATION").is_empty(), "ISOLATION is reload, or not set");
    let (port, name) = match plain {
        true => (var("MYSQL_TCP_PORT"), var("MYSQL_DATABASE")),
        false => (var("DB_PORT"), format!("shop@{test}-{}", std::process::id())),
    };
    let sql = |database: &str, statements: &str| {
        let mut client = Command::new("mysql");
        client.args(["--no-defaults", "-N", "-h", "127.0.0.1", "-P", &port, "-u", &var("MYSQL_USER"), database, "-e", statements]);
        let said = client.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        said.stdout
    };
    if plain {
        let dump = fs::read_to_string("../../shop.sql").unwrap();
        sql("", &format!("DROP DATABASE {name}; CREATE DATABASE {name}; USE {name}; {dump}"));
    }
    if let Ok(leaks) = env::var("RAMARIA_LEAKS") {
        let found = sql(&name, &fs::read_to_string("../../look.sql").unwrap());
        let found = String::from_utf8(found).unwrap().replace("\\t", "\t");
        fs::OpenOptions::new().append(true).open(leaks).unwrap().write_all(found.as_bytes()).unwrap();
    }
    format!("mysql://{}:{}@127.0.0.1:{port}/{name}", var("MYSQL_USER"), var("MYSQL_PASSWORD"))
}
