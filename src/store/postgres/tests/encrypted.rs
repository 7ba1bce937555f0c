//! An engine on another machine.

use super::ports::unused_port;
use super::*;

#[tokio::test]
async fn the_certificate_of_the_engine_is_verified_with_its_name() {
    let port = unused_port();
    let (_engine, authority) = Engine::with_tls(port);
    let authority = authority.display();
    let connect = async |host: &str, options: &str| {
        let options = PostgresOptions::parse(&format!("postgres://test@{host}:{port}/postgres?{options}")).unwrap();
        Opening::connect(options, Host::new("one")).await
    };
    let trusted = format!("sslmode=verify-full&sslrootcert={authority}");
    let (opening, _) = connect("localhost", &trusted).await.unwrap();
    let query = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND $1 <> ''";
    let reader = opening.reader.clone();
    let rows = opening.thread.run(async move { reader.read(query, Vec::new()).await }).await.unwrap();
    assert!(rows[0].get::<_, bool>(0));
    // It is the same engine, but the certificate does not name it like this.
    let refused = connect("127.0.0.1", &trusted).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unreachable(said) if said.contains("certificate")), "{refused}");
    // Nobody whom the system trusts has signed it.
    let refused = connect("localhost", "sslmode=require").await.unwrap_err();
    assert!(matches!(&refused, StoreError::Unreachable(said) if said.contains("certificate")), "{refused}");
    connect("127.0.0.1", "").await.unwrap();
}
