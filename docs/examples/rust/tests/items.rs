use sqlx::mysql::MySqlPoolOptions;

async fn adds_an_item(test: &str) {
    let url = shop::database(test);
    let db = MySqlPoolOptions::new().max_connections(2).connect(&url).await.unwrap();
    sqlx::query("INSERT INTO items (name) VALUES ('cocoa')").execute(&db).await.unwrap();
    let names: Vec<String> =
        sqlx::query_scalar("SELECT name FROM items ORDER BY id").fetch_all(&db).await.unwrap();
    assert_eq!(names, ["tea", "coffee", "cocoa"]);
    db.close().await;
}

macro_rules! tests {
    ($($name:ident)*) => {
        $( #[tokio::test] async fn $name() { adds_an_item(stringify!($name)).await } )*
    };
}
tests!(one two three four five six seven eight);
