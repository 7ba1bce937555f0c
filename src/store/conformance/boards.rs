//! Short texts that daemons share.

use futures_util::future::join_all;

use super::*;
use crate::store::Board;

/// A board is empty at first. Of those who write on the same version, one succeeds. Boards do not concern each other.
pub(super) async fn a_board_is_written_by_one_at_a_time(world: World) {
    let empty = world.store.board("one").await.unwrap();
    assert_eq!(empty, Board::default());
    let written = join_all((0..10).map(|n| world.store.write_board("one", empty.version, n.to_string()))).await;
    assert_eq!(written.into_iter().filter(|written| *written.as_ref().unwrap()).count(), 1);
    let board = world.store.board("one").await.unwrap();
    assert!(board.version > empty.version && board.text.len() == 1);
    assert!(!world.store.write_board("one", empty.version, "late".into()).await.unwrap());
    assert!(world.store.write_board("one", board.version, "next".into()).await.unwrap());
    assert_eq!(world.store.board("one").await.unwrap().text, "next");
    assert_eq!(world.store.board("other").await.unwrap(), empty);
}
