use tokio::io::{DuplexStream, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as Sent;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::*;

type End = Line<WebSocketStream<DuplexStream>>;

/// Two ends, with so many bytes between them.
async fn ends(between: usize) -> (End, End) {
    let (one, other) = duplex(between);
    let end = async |stream, role| Line::new(WebSocketStream::from_raw_socket(stream, role, None).await);
    (end(one, Role::Client).await, end(other, Role::Server).await)
}

fn frame(letter: char, length: usize) -> String {
    format!("{{{}}}", letter.to_string().repeat(length))
}

async fn heard(line: &mut End) -> String {
    loop {
        if let Event::Frame(frame) = line.next::<Sent, _>(true).await.unwrap() {
            return frame;
        }
    }
}

async fn until_idle(line: &mut End) {
    while !line.is_idle() {
        line.next::<Sent, _>(true).await.unwrap();
    }
}

#[tokio::test]
async fn long_frames_that_cross_do_not_block_each_other() {
    // Neither end could write all of its frame without reading.
    let (mut one, mut other) = ends(1000).await;
    let (there, back) = (frame('ä', 200_000), frame('b', 300_000));
    one.queue(there.clone());
    other.queue(back.clone());
    let (got, sent) = tokio::join!(
        async {
            let got = heard(&mut one).await;
            until_idle(&mut one).await;
            got
        },
        async {
            let got = heard(&mut other).await;
            until_idle(&mut other).await;
            got
        }
    );
    assert!(got == back && sent == there);
}

#[tokio::test]
async fn a_short_frame_does_not_wait_for_a_long_one() {
    let (mut one, mut other) = ends(1000).await;
    let (long, short) = (frame('l', 100_000), frame('s', 10));
    one.queue(long.clone());
    one.queue(short.clone());
    let (first, ()) = tokio::join!(async { (heard(&mut other).await, heard(&mut other).await) }, until_idle(&mut one));
    assert!(first == (short, long));
}

#[tokio::test]
async fn every_piece_is_a_sign_of_life() {
    let (mut one, mut other) = ends(3 * MAX_MESSAGE).await;
    one.queue(frame('x', 10 * MAX_MESSAGE));
    let before = other.heard_at;
    // A few pieces fit between the two ends. They are heard, and the frame is not whole.
    assert!(futures_util::poll!(std::pin::pin!(one.next::<Sent, _>(true))).is_pending());
    assert!(futures_util::poll!(std::pin::pin!(other.next::<Sent, _>(true))).is_pending());
    assert!(other.heard_at > before && other.incoming.len() > MAX_MESSAGE);
}

#[test]
fn a_frame_has_a_limit_however_it_comes() {
    let mut incoming = String::new();
    let piece = format!("+{}", "x".repeat(MAX_MESSAGE));
    let most = MAX_FRAME / MAX_MESSAGE;
    for _ in 0..most {
        assert!(join(&mut incoming, &piece).unwrap().is_none());
    }
    assert!(matches!(join(&mut incoming, &piece), Err(LineError::TooLong)));
}

#[test]
fn a_frame_is_cut_between_characters_and_comes_together_again() {
    for length in [0, 1, MAX_MESSAGE / 2 - 2, MAX_MESSAGE / 2, MAX_MESSAGE, 3 * MAX_MESSAGE + 1] {
        let whole = frame('ä', length);
        let (mut outgoing, mut incoming, mut joined) = (Outgoing::default(), String::new(), None);
        outgoing.push(whole.clone());
        while let Some(message) = outgoing.pop() {
            assert!(message.len() <= MAX_MESSAGE && joined.is_none());
            joined = join(&mut incoming, &message).unwrap();
        }
        assert!(joined == Some(whole), "{length}");
    }
}
