//! Letting a new device in, as a matter of who has shown what to whom. No I/O; the time is handed in.
//!
//! The daemon makes a code, which a person carries to the device (as a QR code). The device claims it and gets six digits to
//! show. The person types them where the code was made: so the device that is let in is the one they hold, whoever else
//! has seen the code. Only then the device gets its token.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::access::{Token, TokenHash};

/// How long a code can be claimed; then how long the digits can be confirmed; then how long the token can be fetched.
pub const STEP: Duration = Duration::from_secs(5 * 60);
/// How often the digits may be wrong, the last one included.
const ATTEMPTS: u8 = 3;
/// More at once nobody needs; the oldest gives way.
const MAX_PAIRINGS: usize = 16;
/// 128 bits: as many as make a QR code that still fits into a terminal.
const CODE: usize = 32;
const ID: usize = 12;

/// What was made for a new pairing.
#[derive(Debug)]
pub struct NewPairing {
    /// Names it, for who may confirm it.
    pub id: String,
    /// For the device, once.
    pub code: String,
}

/// What a device gets for a code.
#[derive(Debug)]
pub struct Claim {
    /// The secret that fetches the token.
    pub claim: Token,
    /// For the device to show.
    pub check: String,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nobody has claimed the code.
    Waiting,
    /// A device shows its digits.
    Claimed,
    /// They were typed in.
    Confirmed,
    /// A person said no, or mistyped too often.
    Refused,
    /// It took too long.
    Expired,
}

/// What typing the digits came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// They are right.
    Right,
    /// They are wrong, and may be typed again so often.
    Wrong(u8),
    /// They are wrong once too often, or it is over.
    Over,
}

/// What becomes of a claim.
#[derive(Debug)]
pub enum Fetch {
    /// A device with this name is let in, with this token; whether it was before. The same claim gets the same token: a device that
    /// slept through the first reply asks again.
    Granted {
        /// For the list of devices.
        name: String,
        /// For the device.
        token: Token,
        /// Whether it is on that list.
        is_in: bool,
    },
    /// Not yet.
    Waiting,
    /// A person said no.
    Refused,
    /// There is no such claim, or not any more.
    Gone,
}

#[derive(Debug)]
struct Pairing {
    id: String,
    code: TokenHash,
    /// What the person calls the device, else it calls itself.
    name: Option<String>,
    state: State,
    until: Instant,
}

#[derive(Debug)]
enum State {
    Waiting,
    Claimed { claim: TokenHash, check: String, wrong: u8 },
    Confirmed { claim: TokenHash, token: Token, is_in: bool },
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

    fn refuse(&mut self) {
        self.state = State::Refused { claim: self.claim() };
    }
}

/// The pairings under way.
#[derive(Debug, Default)]
pub struct Pairings {
    all: Mutex<Vec<Pairing>>,
    changes: watch::Sender<()>,
}

impl Pairings {
    /// Makes a code.
    pub fn begin(&self, name: Option<String>, now: Instant) -> Result<NewPairing, getrandom::Error> {
        let random = Token::generate()?;
        let (code, rest) = random.reveal().split_at(CODE);
        let new = NewPairing { id: rest[..ID].to_owned(), code: code.to_owned() };
        let mut all = self.lock();
        // What is over is told for a while.
        all.retain(|pairing| now < pairing.until + STEP);
        let surplus = (all.len() + 1).saturating_sub(MAX_PAIRINGS);
        all.drain(..surplus);
        let code = TokenHash::of(code.as_bytes());
        all.push(Pairing { id: new.id.clone(), code, name, state: State::Waiting, until: now + STEP });
        Ok(new)
    }

    /// A device shows the code; `None` if it is not good (any more).
    pub fn claim(&self, code: &str, name: String, now: Instant) -> Result<Option<Claim>, getrandom::Error> {
        let claim = Claim { claim: Token::generate()?, check: six_digits()? };
        let code = TokenHash::of(code.as_bytes());
        let mut all = self.lock();
        let Some(pairing) = all.iter_mut().find(|pairing| pairing.code == code) else { return Ok(None) };
        if pairing.stage(now) != Stage::Waiting {
            return Ok(None);
        }
        pairing.name.get_or_insert(name);
        pairing.state = State::Claimed { claim: claim.claim.hash(), check: claim.check.clone(), wrong: 0 };
        pairing.until = now + STEP;
        self.changes.send_replace(());
        Ok(Some(claim))
    }

    /// How far it has come, and with what device; `None` if there is no such pairing.
    pub fn look(&self, id: &str, now: Instant) -> Option<(Stage, Option<String>)> {
        let all = self.lock();
        let pairing = all.iter().find(|pairing| pairing.id == id)?;
        Some((pairing.stage(now), pairing.name.clone()))
    }

    /// A person types the digits that the device shows. Without randomness nobody is let in.
    pub fn confirm(&self, id: &str, typed: &str, now: Instant) -> Result<Option<Check>, getrandom::Error> {
        let token = Token::generate()?;
        Ok(self.check(id, typed, token, now))
    }

    fn check(&self, id: &str, typed: &str, token: Token, now: Instant) -> Option<Check> {
        let mut all = self.lock();
        let pairing = all.iter_mut().find(|pairing| pairing.id == id)?;
        let is_over = pairing.stage(now) != Stage::Claimed;
        let State::Claimed { claim, check, wrong } = &mut pairing.state else { return Some(Check::Over) };
        if is_over {
            return Some(Check::Over);
        }
        if *check == typed {
            pairing.state = State::Confirmed { claim: *claim, token, is_in: false };
            pairing.until = now + STEP;
            self.changes.send_replace(());
            return Some(Check::Right);
        }
        *wrong += 1;
        if *wrong < ATTEMPTS {
            return Some(Check::Wrong(ATTEMPTS - *wrong));
        }
        pairing.refuse();
        self.changes.send_replace(());
        Some(Check::Over)
    }

    /// A person says no; `false` if there is nothing to say no to.
    pub fn refuse(&self, id: &str, now: Instant) -> bool {
        let mut all = self.lock();
        let pairing = all.iter_mut().find(|pairing| pairing.id == id);
        let pairing = pairing.filter(|pairing| matches!(pairing.stage(now), Stage::Waiting | Stage::Claimed));
        let found = pairing.map(Pairing::refuse).is_some();
        self.changes.send_replace(());
        found
    }

    /// A device comes for its token.
    pub fn fetch(&self, claim: TokenHash, now: Instant) -> Fetch {
        let all = self.lock();
        let Some(pairing) = all.iter().find(|pairing| pairing.claim() == Some(claim)) else { return Fetch::Gone };
        match &pairing.state {
            State::Refused { .. } => Fetch::Refused,
            _ if now >= pairing.until => Fetch::Gone,
            State::Confirmed { token, is_in, .. } => {
                let name = pairing.name.clone().unwrap_or_default();
                Fetch::Granted { name, token: token.clone(), is_in: *is_in }
            }
            _ => Fetch::Waiting,
        }
    }

    /// The device is on the list now. It is put there once: who is revoked does not come back with an old claim.
    pub fn let_in(&self, claimed: TokenHash) {
        for pairing in self.lock().iter_mut() {
            if let State::Confirmed { claim, is_in, .. } = &mut pairing.state
                && *claim == claimed
            {
                *is_in = true;
            }
        }
    }

    /// Says when anything has changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Pairing>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every combination as likely as any other, to 14 digits.
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

    /// Whether the token was there before; `None` if there is none.
    fn fetched(pairings: &Pairings, claim: &Claim, now: Instant) -> Option<(String, String, bool)> {
        match pairings.fetch(claim.claim.hash(), now) {
            Fetch::Granted { name, token, is_in } => Some((name, token.reveal().to_owned(), is_in)),
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
        let (name, token, is_in) = fetched(&pairings, &claim, now).unwrap();
        assert_eq!((name.as_str(), is_in), ("Phone", false));
        // It may have slept through the reply, and asks again.
        pairings.let_in(claim.claim.hash());
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
