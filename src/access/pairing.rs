//! Pairing: letting a new device in.
//!
//! The daemon makes a code, and a person carries it to the device as a QR code. The device claims the code and gets six digits to show.
//! The person types the digits where the code was made. So the device that is let in is the one in the person's hand, whoever else has
//! seen the code. Only then does the device get its token.
//!
//! There is no I/O here, and the time is handed in. `pairings` keeps the list where all daemons of a store see it. So the list holds no
//! secret: the token of a device is made from the claim, which only the device has.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{MacKey, Token, TokenHash};

/// How long a code can be claimed; then how long the digits can be confirmed; then how long the token can be fetched.
const STEP: SignedDuration = SignedDuration::from_mins(5);
/// Three steps, and one more to tell both sides how it ended.
const LIFETIME: SignedDuration = SignedDuration::from_mins(20);
/// How often the digits may be wrong, the last time included.
const ATTEMPTS: u8 = 3;
/// Nobody needs more at once.
const MAX_PAIRINGS: usize = 16;
/// 128 bits: the QR code still fits into a terminal.
const CODE: usize = 32;
const ID: usize = 12;
/// Another use of a claim must not give the same token.
const TOKEN_PURPOSE: &[u8] = b"answerback: the token of a paired device";

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
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fetch {
    /// The device is let in. It may come again, because it may have slept through the first reply.
    Granted {
        name: String,
        /// Whose device it is.
        person: Option<i64>,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pairing {
    id: String,
    code: TokenHash,
    /// The person's name for the device, or else the device's own.
    name: Option<String>,
    /// The person who will have the device.
    person: Option<i64>,
    state: State,
    began_at: Timestamp,
    /// The end of the present step.
    until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum State {
    Waiting,
    Claimed { claim: TokenHash, check: String, wrong: u8 },
    Confirmed { claim: TokenHash, is_listed: bool },
    Refused { claim: Option<TokenHash> },
}

impl Pairing {
    fn stage(&self, now: Timestamp) -> Stage {
        match self.state {
            State::Confirmed { .. } => Stage::Confirmed,
            State::Refused { .. } => Stage::Refused,
            _ if now >= self.until => Stage::Expired,
            State::Waiting => Stage::Waiting,
            State::Claimed { .. } => Stage::Claimed,
        }
    }

    fn is_known(&self, now: Timestamp) -> bool {
        now.duration_since(self.began_at) < LIFETIME
    }

    fn claim(&self) -> Option<TokenHash> {
        match &self.state {
            State::Claimed { claim, .. } | State::Confirmed { claim, .. } => Some(*claim),
            State::Refused { claim } => *claim,
            State::Waiting => None,
        }
    }

    fn go_on(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.until = now + STEP;
    }

    fn refuse(&mut self) {
        self.state = State::Refused { claim: self.claim() };
    }

    fn check(&mut self, typed: &str, now: Timestamp) -> Check {
        let is_over = self.stage(now) != Stage::Claimed;
        let State::Claimed { claim, check, wrong } = &mut self.state else { return Check::Over };
        if is_over {
            return Check::Over;
        }
        if *check == typed {
            let claim = *claim;
            self.go_on(State::Confirmed { claim, is_listed: false }, now);
            return Check::Right;
        }
        *wrong += 1;
        if *wrong < ATTEMPTS {
            return Check::Wrong(ATTEMPTS - *wrong);
        }
        self.refuse();
        Check::Over
    }

    fn fetch(&self, now: Timestamp) -> Fetch {
        match &self.state {
            State::Refused { .. } => Fetch::Refused,
            _ if now >= self.until => Fetch::Gone,
            State::Confirmed { is_listed, .. } => {
                let (name, person) = (self.name.clone().unwrap_or_default(), self.person);
                Fetch::Granted { name, person, is_listed: *is_listed }
            }
            State::Waiting | State::Claimed { .. } => Fetch::Waiting,
        }
    }
}

/// The token of the device that has this claim. The same claim always gives the same token.
pub(super) fn token_of(claim: &str) -> Option<Token> {
    Token::parse(&MacKey::new(claim.as_bytes()).sign_hex(&[TOKEN_PURPOSE]))
}

/// The secrets of a new pairing.
pub(super) fn new_pairing() -> Result<NewPairing, getrandom::Error> {
    let random = Token::generate()?;
    let (code, rest) = random.reveal().split_at(CODE);
    Ok(NewPairing { id: rest[..ID].to_owned(), code: code.to_owned(), good_for: STEP.unsigned_abs() })
}

/// The secrets of a new claim.
pub(super) fn new_claim() -> Result<Claim, getrandom::Error> {
    Ok(Claim { claim: Token::generate()?, check: six_digits()? })
}

/// The pairings under way, and those that were over a moment ago. Oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PairingList(Vec<Pairing>);

impl PairingList {
    /// Adds a pairing. If there are too many, the oldest gives way.
    pub(super) fn begin(&mut self, new: &NewPairing, name: Option<String>, person: Option<i64>, now: Timestamp) {
        self.0.retain(|pairing| pairing.is_known(now));
        self.0.drain(..(self.0.len() + 1).saturating_sub(MAX_PAIRINGS));
        let (id, code) = (new.id.clone(), TokenHash::of(new.code.as_bytes()));
        self.0.push(Pairing { id, code, name, person, state: State::Waiting, began_at: now, until: now + STEP });
    }

    fn find(&mut self, now: Timestamp, is_it: impl Fn(&Pairing) -> bool) -> Option<&mut Pairing> {
        self.0.iter_mut().find(|pairing| pairing.is_known(now) && is_it(pairing))
    }

    /// A device shows the code; `false` if the code is not good, or not any more.
    pub(super) fn claim(&mut self, code: &str, name: String, claim: &Claim, now: Timestamp) -> bool {
        let code = TokenHash::of(code.as_bytes());
        let Some(pairing) = self.find(now, |it| it.code == code && it.stage(now) == Stage::Waiting) else {
            return false;
        };
        pairing.name.get_or_insert(name);
        pairing.go_on(State::Claimed { claim: claim.claim.hash(), check: claim.check.clone(), wrong: 0 }, now);
        true
    }

    /// How far a pairing has come, and the name of its device; `None` if there is no such pairing.
    pub(super) fn look(&mut self, id: &str, now: Timestamp) -> Option<(Stage, Option<String>)> {
        self.find(now, |pairing| pairing.id == id).map(|pairing| (pairing.stage(now), pairing.name.clone()))
    }

    /// A person types the digits that the device shows; `None` if there is no such pairing.
    pub(super) fn confirm(&mut self, id: &str, typed: &str, now: Timestamp) -> Option<Check> {
        self.find(now, |pairing| pairing.id == id).map(|pairing| pairing.check(typed, now))
    }

    /// A person refuses to let the device in; `false` if it is too late for that.
    pub(super) fn refuse(&mut self, id: &str, now: Timestamp) -> bool {
        let is_undecided = |pairing: &Pairing| matches!(pairing.stage(now), Stage::Waiting | Stage::Claimed);
        self.find(now, |pairing| pairing.id == id && is_undecided(pairing)).map(Pairing::refuse).is_some()
    }

    /// A device comes for its token.
    pub(super) fn fetch(&mut self, claim: TokenHash, now: Timestamp) -> Fetch {
        self.find(now, |pairing| pairing.claim() == Some(claim)).map_or(Fetch::Gone, |pairing| pairing.fetch(now))
    }

    /// Notes that the device is on the list. It is put there once, so a revoked device does not come back with an old claim.
    pub(super) fn note_listed(&mut self, claim: TokenHash, now: Timestamp) {
        if let Some(pairing) = self.find(now, |pairing| pairing.claim() == Some(claim))
            && let State::Confirmed { is_listed, .. } = &mut pairing.state
        {
            *is_listed = true;
        }
    }

    /// Until when a device can claim the code of this pairing; `None` if none can any more.
    pub(super) fn claimable_until(&mut self, id: &str, now: Timestamp) -> Option<Timestamp> {
        let waits = |pairing: &Pairing| pairing.id == id && pairing.stage(now) == Stage::Waiting;
        self.find(now, waits).map(|pairing| pairing.until)
    }

    /// Until when the person can decide about this claim; `None` if they have decided, or cannot any more.
    pub(super) fn decidable_until(&mut self, claim: TokenHash, now: Timestamp) -> Option<Timestamp> {
        let waits = |pairing: &Pairing| pairing.claim() == Some(claim) && pairing.stage(now) == Stage::Claimed;
        self.find(now, waits).map(|pairing| pairing.until)
    }
}

/// Six random digits. A 64-bit number is so large that each combination is as likely as any other.
fn six_digits() -> Result<String, getrandom::Error> {
    Ok(format!("{:06}", getrandom::u64()? % 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(pairings: &mut PairingList, name: Option<&str>, now: Timestamp) -> NewPairing {
        let new = new_pairing().unwrap();
        pairings.begin(&new, name.map(Into::into), Some(7), now);
        new
    }

    fn try_claim(pairings: &mut PairingList, code: &str, name: &str, now: Timestamp) -> Option<Claim> {
        let claim = new_claim().unwrap();
        pairings.claim(code, name.into(), &claim, now).then_some(claim)
    }

    fn claimed(pairings: &mut PairingList, now: Timestamp) -> (NewPairing, Claim) {
        let new = begun(pairings, None, now);
        let claim = try_claim(pairings, &new.code, "Phone", now).unwrap();
        (new, claim)
    }

    /// The device's name, and whether it is on the list; `None` if it is not let in.
    fn fetched(pairings: &mut PairingList, claim: &Claim, now: Timestamp) -> Option<(String, bool)> {
        match pairings.fetch(claim.claim.hash(), now) {
            Fetch::Granted { name, person: Some(7), is_listed } => Some((name, is_listed)),
            _ => None,
        }
    }

    fn stage(pairings: &mut PairingList, id: &str, now: Timestamp) -> Stage {
        pairings.look(id, now).unwrap().0
    }

    #[test]
    fn a_device_that_shows_the_right_digits_is_let_in() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let (new, claim) = claimed(&mut pairings, now);
        assert!(claim.check.len() == 6 && claim.check.bytes().all(|byte| byte.is_ascii_digit()));
        assert_eq!(pairings.look(&new.id, now), Some((Stage::Claimed, Some("Phone".into()))));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Waiting));
        assert_eq!(pairings.confirm(&new.id, &claim.check, now), Some(Check::Right));
        assert_eq!(fetched(&mut pairings, &claim, now), Some(("Phone".into(), false)));
        // It may have slept through the reply, and asks again.
        pairings.note_listed(claim.claim.hash(), now);
        assert_eq!(fetched(&mut pairings, &claim, now), Some(("Phone".into(), true)));
        assert_eq!(stage(&mut pairings, &new.id, now), Stage::Confirmed);
        assert!(!pairings.refuse(&new.id, now));
    }

    #[test]
    fn a_code_is_good_once_and_not_for_long() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let (new, _) = claimed(&mut pairings, now);
        assert!(try_claim(&mut pairings, &new.code, "Another", now).is_none());
        assert!(try_claim(&mut pairings, "guess", "Another", now).is_none());
        let late = begun(&mut pairings, None, now);
        assert!(try_claim(&mut pairings, &late.code, "Late", now + STEP).is_none());
        assert_eq!(stage(&mut pairings, &late.id, now + STEP), Stage::Expired);
        assert_eq!(pairings.look(&late.id, now + LIFETIME), None);
    }

    #[test]
    fn the_third_wrong_attempt_is_the_last() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let (new, claim) = claimed(&mut pairings, now);
        assert_eq!(pairings.confirm(&new.id, "wrong", now), Some(Check::Wrong(2)));
        assert_eq!(pairings.confirm(&new.id, "wrong", now), Some(Check::Wrong(1)));
        assert_eq!(pairings.confirm(&new.id, "wrong", now), Some(Check::Over));
        assert_eq!(pairings.confirm(&new.id, &claim.check, now), Some(Check::Over));
        assert_eq!(stage(&mut pairings, &new.id, now), Stage::Refused);
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Refused));
        assert_eq!(pairings.confirm("nobody", "123456", now), None);
    }

    #[test]
    fn a_person_can_say_no_and_be_too_late() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let (new, claim) = claimed(&mut pairings, now);
        assert!(pairings.refuse(&new.id, now));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now), Fetch::Refused));
        let unclaimed = begun(&mut pairings, None, now);
        assert!(pairings.refuse(&unclaimed.id, now));
        assert!(try_claim(&mut pairings, &unclaimed.code, "Phone", now).is_none());

        let (new, claim) = claimed(&mut pairings, now);
        assert_eq!(pairings.confirm(&new.id, &claim.check, now + STEP), Some(Check::Over));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now + STEP), Fetch::Gone));
        let (new, claim) = claimed(&mut pairings, now);
        assert_eq!(pairings.confirm(&new.id, &claim.check, now), Some(Check::Right));
        assert!(matches!(pairings.fetch(claim.claim.hash(), now + STEP), Fetch::Gone));
    }

    #[test]
    fn the_persons_name_counts() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let new = begun(&mut pairings, Some("Mine"), now);
        let claim = try_claim(&mut pairings, &new.code, "Phone", now).unwrap();
        pairings.confirm(&new.id, &claim.check, now);
        assert_eq!(fetched(&mut pairings, &claim, now).unwrap().0, "Mine");
    }

    #[test]
    fn the_oldest_gives_way() {
        let (mut pairings, now) = (PairingList::default(), Timestamp::now());
        let all: Vec<_> = (0..=MAX_PAIRINGS).map(|_| begun(&mut pairings, None, now)).collect();
        assert!(pairings.look(&all[0].id, now).is_none() && pairings.look(&all[1].id, now).is_some());
    }
}
