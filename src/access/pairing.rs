//! Pairing: letting a new device in.
//!
//! The daemon makes a code, and a person carries it to the device as a QR code. The device claims the code and gets six digits to show.
//! The person types the digits where the code was made. So the device that is let in is the one in the person's hand, whoever else has
//! seen the code. Only then does the device get its token.
//!
//! There is no I/O here. The time is handed in, except where something is waited for.

use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::{Expiring, Token, TokenHash};

/// How long a code can be claimed; then how long the digits can be confirmed; then how long the token can be fetched.
const STEP: Duration = Duration::from_secs(5 * 60);
/// Three steps, and one more to tell both sides how it ended.
const LIFETIME: Duration = STEP.saturating_mul(4);
/// How often the digits may be wrong, the last time included.
const ATTEMPTS: u8 = 3;
/// Nobody needs more at once.
const MAX_PAIRINGS: usize = 16;
/// 128 bits: the QR code still fits into a terminal.
const CODE: usize = 32;
const ID: usize = 12;

/// A pairing that has begun.
#[derive(Debug)]
pub struct NewPairing {
    /// Names the pairing to the person's side.
    pub id: String,
    /// The secret that a person carries to the device.
    pub code: String,
    /// How long the code is good.
    pub good_for: Duration,
}

/// What a device gets for a code.
#[derive(Debug)]
pub struct Claim {
    /// The secret that fetches the token.
    pub claim: Token,
    /// The digits that the device shows.
    pub check: String,
}

/// How far a pairing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// No device has claimed the code.
    Waiting,
    /// A device shows its digits.
    Claimed,
    /// The person typed them.
    Confirmed,
    /// The person refused, or mistyped too often.
    Refused,
    /// It took too long.
    Expired,
}

/// The result of typing the digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// They are right.
    Right,
    /// They are wrong. This many attempts are left.
    Wrong(u8),
    /// They are wrong once too often, or the pairing is over.
    Over,
}

/// The state of a claim.
#[derive(Debug)]
pub(super) enum Fetch {
    /// The device is let in. The same claim always gets the same token, because a device that slept through the first reply asks again.
    Granted {
        name: String,
        token: Token,
        /// Whether the device is on the list already.
        is_listed: bool,
    },
    /// The person has not decided yet.
    Waiting,
    /// The person refused.
    Refused,
    /// The claim has expired, or never existed.
    Gone,
}

#[derive(Debug)]
struct Pairing {
    id: String,
    code: TokenHash,
    /// The person's name for the device, or else the device's own.
    name: Option<String>,
    state: State,
    /// The end of the present step.
    until: Instant,
}

#[derive(Debug)]
enum State {
    Waiting,
    Claimed { claim: TokenHash, check: String, wrong: u8 },
    Confirmed { claim: TokenHash, token: Token, is_listed: bool },
    Refused { claim: Option<TokenHash> },
}

impl Pairing {
    fn stage(&self, now: Instant) -> Stage {
        match self.state {
            State::Confirmed { .. } => Stage::Confirmed,
            State::Refused { .. } => Stage::Refused,
            _ if now >= self.until => Stage::Expired,
            State::Waiting => Stage::Waiting,
            State::Claimed { .. } => Stage::Claimed,
        }
    }

    fn claim(&self) -> Option<TokenHash> {
        match &self.state {
            State::Claimed { claim, .. } | State::Confirmed { claim, .. } => Some(*claim),
            State::Refused { claim } => *claim,
            State::Waiting => None,
        }
    }

    fn go_on(&mut self, state: State, now: Instant) {
        self.state = state;
        self.until = now + STEP;
    }

    fn refuse(&mut self) {
        self.state = State::Refused { claim: self.claim() };
    }

    fn check(&mut self, typed: &str, token: Token, now: Instant) -> Check {
        let is_over = self.stage(now) != Stage::Claimed;
        let State::Claimed { claim, check, wrong } = &mut self.state else { return Check::Over };
        if is_over {
            return Check::Over;
        }
        if *check == typed {
            let claim = *claim;
            self.go_on(State::Confirmed { claim, token, is_listed: false }, now);
            return Check::Right;
        }
        *wrong += 1;
        if *wrong < ATTEMPTS {
            return Check::Wrong(ATTEMPTS - *wrong);
        }
        self.refuse();
        Check::Over
    }

    fn fetch(&self, now: Instant) -> Fetch {
        match &self.state {
            State::Refused { .. } => Fetch::Refused,
            _ if now >= self.until => Fetch::Gone,
            State::Confirmed { token, is_listed, .. } => {
                let name = self.name.clone().unwrap_or_default();
                Fetch::Granted { name, token: token.clone(), is_listed: *is_listed }
            }
            State::Waiting | State::Claimed { .. } => Fetch::Waiting,
        }
    }
}

/// The pairings under way, and those that were over a moment ago.
#[derive(Debug)]
pub(super) struct Pairings {
    all: Expiring<Pairing>,
    changes: watch::Sender<()>,
}

impl Default for Pairings {
    fn default() -> Self {
        Self { all: Expiring::new(MAX_PAIRINGS, LIFETIME), changes: watch::Sender::default() }
    }
}

impl Pairings {
    /// Makes a code.
    pub(super) fn begin(&self, name: Option<String>, now: Instant) -> Result<NewPairing, getrandom::Error> {
        let random = Token::generate()?;
        let (code, rest) = random.reveal().split_at(CODE);
        let new = NewPairing { id: rest[..ID].to_owned(), code: code.to_owned(), good_for: STEP };
        let code = TokenHash::of(code.as_bytes());
        self.all.add(Pairing { id: new.id.clone(), code, name, state: State::Waiting, until: now + STEP }, now);
        Ok(new)
    }

    /// A device shows the code; `None` if the code is not good, or not any more.
    pub(super) fn claim(&self, code: &str, name: String, now: Instant) -> Result<Option<Claim>, getrandom::Error> {
        let claim = Claim { claim: Token::generate()?, check: six_digits()? };
        let code = TokenHash::of(code.as_bytes());
        let is_it = |pairing: &Pairing| pairing.code == code && pairing.stage(now) == Stage::Waiting;
        let claimed = self.all.with(now, is_it, |pairing| {
            pairing.name.get_or_insert(name);
            let state = State::Claimed { claim: claim.claim.hash(), check: claim.check.clone(), wrong: 0 };
            pairing.go_on(state, now);
        });
        self.changes.send_if_modified(|()| claimed.is_some());
        Ok(claimed.map(|()| claim))
    }

    /// How far a pairing has come, and the name of its device; `None` if there is no such pairing.
    pub(super) fn look(&self, id: &str, now: Instant) -> Option<(Stage, Option<String>)> {
        self.all.with(now, |pairing| pairing.id == id, |pairing| (pairing.stage(now), pairing.name.clone()))
    }

    /// A person types the digits that the device shows; `None` if there is no such pairing. Without randomness nobody is let in.
    pub(super) fn confirm(&self, id: &str, typed: &str, now: Instant) -> Result<Option<Check>, getrandom::Error> {
        let token = Token::generate()?;
        let check = self.all.with(now, |pairing| pairing.id == id, |pairing| pairing.check(typed, token, now));
        self.changes.send_if_modified(|()| check.is_some());
        Ok(check)
    }

    /// A person refuses to let the device in; `false` if it is too late for that.
    pub(super) fn refuse(&self, id: &str, now: Instant) -> bool {
        let is_undecided = |pairing: &Pairing| matches!(pairing.stage(now), Stage::Waiting | Stage::Claimed);
        let is_it = |pairing: &Pairing| pairing.id == id && is_undecided(pairing);
        let refused = self.all.with(now, is_it, Pairing::refuse).is_some();
        self.changes.send_if_modified(|()| refused);
        refused
    }

    /// A device comes for its token.
    pub(super) fn fetch(&self, claim: TokenHash, now: Instant) -> Fetch {
        let fetched = self.all.with(now, |pairing| pairing.claim() == Some(claim), |pairing| pairing.fetch(now));
        fetched.unwrap_or(Fetch::Gone)
    }

    /// Notes that the device is on the list. It is put there once, so a revoked device does not come back with an old claim.
    pub(super) fn note_listed(&self, claim: TokenHash, now: Instant) {
        self.all.with(
            now,
            |pairing| pairing.claim() == Some(claim),
            |pairing| {
                if let State::Confirmed { is_listed, .. } = &mut pairing.state {
                    *is_listed = true;
                }
            },
        );
    }

    /// Returns once a device has claimed the code of this pairing, or none can any more.
    pub(super) async fn until_claimed(&self, id: &str) {
        self.while_some(|now| {
            let is_waiting = |pairing: &Pairing| pairing.id == id && pairing.stage(now) == Stage::Waiting;
            self.all.with(now, is_waiting, |pairing| pairing.until)
        })
        .await;
    }

    /// Returns once the person has decided about this claim, or it is too late.
    pub(super) async fn until_decided(&self, claim: TokenHash) {
        self.while_some(|now| {
            let is_waiting = |pairing: &Pairing| pairing.claim() == Some(claim) && pairing.stage(now) == Stage::Claimed;
            self.all.with(now, is_waiting, |pairing| pairing.until)
        })
        .await;
    }

    /// Waits for as long as there is an end to wait for. Each change and that end are reasons to look again.
    async fn while_some(&self, end: impl Fn(Instant) -> Option<Instant>) {
        // Before the first look, so that no change falls between the two.
        let mut changes = self.changes.subscribe();
        while let Some(end) = end(Instant::now()) {
            drop(tokio::time::timeout_at(end.into(), changes.changed()).await);
        }
    }
}

/// Six random digits. A 64-bit number is so large that each combination is as likely as any other.
fn six_digits() -> Result<String, getrandom::Error> {
    Ok(format!("{:06}", getrandom::u64()? % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(pairings: &Pairings, now: Instant) -> (NewPairing, Claim) {
        let new = pairings.begin(None, now).unwrap();
        let claim = pairings.claim(&new.code, "Phone".into(), now).unwrap().unwrap();
        (new, claim)
    }

    /// The device's name, its token, and whether it is on the list; `None` if there is no token.
    fn fetched(pairings: &Pairings, claim: &Claim, now: Instant) -> Option<(String, String, bool)> {
        match pairings.fetch(claim.claim.hash(), now) {
            Fetch::Granted { name, token, is_listed } => Some((name, token.reveal().to_owned(), is_listed)),
            _ => None,
        }
    }

    fn confirm(pairings: &Pairings, id: &str, typed: &str, now: Instant) -> Option<Check> {
        pairings.confirm(id, typed, now).unwrap()
    }

    fn stage(pairings: &Pairings, id: &str, now: Instant) -> Stage {
        pairings.look(id, now).unwrap().0
    }

    #[test]
    fn a_device_that_shows_the_right_digits_is_let_in() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let (new, claim) = claimed(&pairings, now);
        assert!(claim.check.len() == 6 && claim.check.bytes().all(|byte| byte.is_ascii_digit()));
        assert_eq!(pairings.look(&new.id, now), Some((Stage::Claimed, Some("Phone".into()))));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Waiting));
        assert_eq!(confirm(&pairings, &new.id, &claim.check, now), Some(Check::Right));
        let (name, token, is_listed) = fetched(&pairings, &claim, now).unwrap();
        assert_eq!((name.as_str(), is_listed), ("Phone", false));
        // It may have slept through the reply, and asks again.
        pairings.note_listed(claim.claim.hash(), now);
        assert_eq!(fetched(&pairings, &claim, now), Some((name, token, true)));
        assert_eq!(stage(&pairings, &new.id, now), Stage::Confirmed);
        assert!(!pairings.refuse(&new.id, now));
    }

    #[test]
    fn a_code_is_good_once_and_not_for_long() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let (new, _) = claimed(&pairings, now);
        assert!(pairings.claim(&new.code, "Another".into(), now).unwrap().is_none());
        assert!(pairings.claim("guess", "Another".into(), now).unwrap().is_none());
        let late = pairings.begin(None, now).unwrap();
        assert!(pairings.claim(&late.code, "Late".into(), now + STEP).unwrap().is_none());
        assert_eq!(stage(&pairings, &late.id, now + STEP), Stage::Expired);
        assert_eq!(pairings.look(&late.id, now + LIFETIME), None);
    }

    #[test]
    fn the_third_wrong_attempt_is_the_last() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let (new, claim) = claimed(&pairings, now);
        assert_eq!(confirm(&pairings, &new.id, "wrong", now), Some(Check::Wrong(2)));
        assert_eq!(confirm(&pairings, &new.id, "wrong", now), Some(Check::Wrong(1)));
        assert_eq!(confirm(&pairings, &new.id, "wrong", now), Some(Check::Over));
        assert_eq!(confirm(&pairings, &new.id, &claim.check, now), Some(Check::Over));
        assert_eq!(stage(&pairings, &new.id, now), Stage::Refused);
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Refused));
        assert_eq!(confirm(&pairings, "nobody", "123456", now), None);
    }

    #[test]
    fn a_person_can_say_no_and_be_too_late() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let (new, claim) = claimed(&pairings, now);
        assert!(pairings.refuse(&new.id, now));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Refused));
        let unclaimed = pairings.begin(None, now).unwrap();
        assert!(pairings.refuse(&unclaimed.id, now));
        assert!(pairings.claim(&unclaimed.code, "Phone".into(), now).unwrap().is_none());

        let (new, claim) = claimed(&pairings, now);
        assert_eq!(confirm(&pairings, &new.id, &claim.check, now + STEP), Some(Check::Over));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now + STEP), Fetch::Gone));
        let (new, claim) = claimed(&pairings, now);
        assert_eq!(confirm(&pairings, &new.id, &claim.check, now), Some(Check::Right));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now + STEP), Fetch::Gone));
    }

    #[test]
    fn the_persons_name_counts() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let new = pairings.begin(Some("Mine".into()), now).unwrap();
        let claim = pairings.claim(&new.code, "Phone".into(), now).unwrap().unwrap();
        confirm(&pairings, &new.id, &claim.check, now);
        assert_eq!(fetched(&pairings, &claim, now).unwrap().0, "Mine");
    }

    #[test]
    fn the_oldest_gives_way() {
        let (pairings, now) = (Pairings::default(), Instant::now());
        let all: Vec<_> = (0..=MAX_PAIRINGS).map(|_| pairings.begin(None, now).unwrap()).collect();
        assert!(pairings.look(&all[0].id, now).is_none() && pairings.look(&all[1].id, now).is_some());
    }
}
