//! Prepares the page for the daemon. The hook has no page, so without the feature `daemon` there is nothing to do.

#[cfg(feature = "daemon")]
mod css;
#[cfg(feature = "daemon")]
mod javascript;
#[cfg(feature = "daemon")]
mod page;

#[cfg(feature = "daemon")]
fn main() -> Result<(), page::Fault> {
    page::build()
}

#[cfg(not(feature = "daemon"))]
fn main() {
    println!("cargo::rerun-if-changed=build/main.rs");
}
