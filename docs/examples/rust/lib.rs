use std::env;

/// The URL of the database `shop@TEST-PROCESS`, which one test of one process has for itself.
pub fn database(test: &str) -> String {
    let var = |name, or: &str| env::var(name).unwrap_or(or.to_string());
    format!(
        "mysql://{}:{}@127.0.0.1:{}/{}",
        var("MYSQL_USER", ""),
        var("MYSQL_PASSWORD", ""),
        var("DB_PORT", "3307"),
        var("DB_NAME", &format!("shop@{test}-{}", std::process::id())),
    )
}
