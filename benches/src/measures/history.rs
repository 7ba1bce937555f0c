//! A long history: what it costs to look into it, and what it costs everything else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls;
use crate::http::{Conn, request};
use crate::lab::{Lab, Place};
use crate::markdown::{Table, count, or_not, time};
use crate::process;
use crate::progress;
use crate::report::{Facts, Section};
use crate::seed;
use crate::servers::{Kind, Server};
use crate::stats::Samples;
use crate::svg::{Plot, Scale, Series};
use crate::swarm::text_field;
use crate::words::Words;

use super::growth;

const ASK: &str = concat!(
    r#"{"questions":[{"question":"Which database should the shop use?","header":"Database","multiSelect":false,"#,
    r#""options":[{"label":"SQLite","description":"One file, no server."},{"label":"PostgreSQL","description":"A server."}]}]}"#
);

/// No step may take longer than this on one store, however slow it is.
const AT_MOST: Duration = Duration::from_millis(1500);
/// How long a daemon may take until it has nothing more to do. If it takes longer, its store is not measured.
const INDEXING: Duration = Duration::from_secs(900);

/// A daemon with a history.
struct Store {
    settled: u64,
    server: Server,
    conn: Conn,
    used: Instant,
    /// How long the first start took, until it served.
    start: f64,
    /// How long it took until it had nothing more to do. `None` if it was still busy after [`INDEXING`].
    settling: Option<f64>,
    key: String,
}

type Step = (&'static str, &'static str, fn(&mut Store));

const STEPS: [Step; 8] = [
    ("page", "the newest 100", |store| get(store, "/v1/asks?state=settled")),
    ("deep", "100 from the middle", |store| {
        let path = format!("/v1/asks?state=settled&before={}", store.settled / 2);
        get(store, &path);
    }),
    ("often", "search, many matches", |store| search(store, Words::OFTEN)),
    ("once", "search, one match", |store| search(store, Words::ONCE)),
    ("never", "search, no match", |store| search(store, Words::NEVER)),
    ("open", "open a question", |store| store.key = open(&mut store.conn)),
    ("answer", "a durable answer", |store| {
        let key = std::mem::take(&mut store.key);
        answer(&mut store.conn, &key);
    }),
    ("list", "list 100 open questions", |store| get(store, "/v1/asks")),
];

fn get(store: &mut Store, path: &str) {
    store.conn.get(path).unwrap().expect(200);
}

fn search(store: &mut Store, word: &str) {
    get(store, &format!("/v1/asks?state=settled&text={word}"));
}

fn open(conn: &mut Conn) -> String {
    conn.send(&request("POST", "/v1/asks", ASK)).unwrap();
    text_field(&conn.read().unwrap().expect(201).body, "key").unwrap()
}

fn answer(conn: &mut Conn, key: &str) {
    conn.call("POST", &format!("/v1/asks/{key}/answer"), calls::ANSWER).unwrap().expect(200);
}

pub fn run(lab: &Lab, facts: &mut Facts) -> Section {
    let sizes = lab.pick(vec![1000, 10_000, 100_000, 1_000_000], vec![1000, 10_000]);
    let mut stores = stores(lab, &sizes);
    let times = measure(lab, &mut stores);

    let mut section = Section::new("A long history");
    section.text(
        "The stores have many settled questions with English text. Each step is one request on a connection that is open already. \
         \"Open a question\" and \"a durable answer\" are on disk when the reply comes.",
    );
    let head: Vec<String> = sizes.iter().map(|settled| format!("{} settled", count(*settled as f64))).collect();
    let column = |index: usize| head.get(index).map_or("", String::as_str);
    let mut table = Table::new(["step", column(0), column(1), column(2), column(3)]);
    let mut series = Vec::new();
    for ((word, name, _), times) in STEPS.iter().zip(&times) {
        let cell = |index: usize| times.get(index).map_or(String::new(), |samples| or_not(samples.median(), time));
        table.row([(*name).to_owned(), cell(0), cell(1), cell(2), cell(3)]);
        let points = sizes.iter().zip(times).filter_map(|(n, times)| Some((*n as f64, times.median()? * 1e3)));
        let curve = Series { name: (*name).to_owned(), points: points.collect() };
        growth::keep(&format!("history.{word}"), &curve, 1.0, facts);
        for (settled, samples) in sizes.iter().zip(times) {
            facts.set(format!("history.{word}.{settled}"), samples.median());
        }
        series.push(curve);
    }
    let start = |index: usize| stores.get(index).map_or(String::new(), |store| time(store.start));
    table.row(["first start, until it serves".to_owned(), start(0), start(1), start(2), start(3)]);
    let settling = |store: &Store| store.settling.map_or_else(|| format!("over {} s", INDEXING.as_secs()), time);
    let settled = |index: usize| stores.get(index).map_or(String::new(), settling);
    table.row(["first start, until it is idle".to_owned(), settled(0), settled(1), settled(2), settled(3)]);
    section.table(table);
    section.text(
        "An exponent near 0 means that a longer history costs nothing, and 1 means that the time grows as the history does. If the \
         time does not depend on the history, R² is near 0 too. The last two rows are about the first start with a store of an older \
         version. The daemon brings the store to its own version, and then makes an index for searches while it serves.",
    );
    let plot = Plot {
        title: "Growth with the history".to_owned(),
        x: "settled questions in the store".to_owned(),
        y: "milliseconds".to_owned(),
        scale: Scale::Log,
        series,
    };
    section.table(growth::fits(&plot, 1.0, 100_000.0, "time", |millis| time(millis / 1e3)));
    section.plot("performance-history.svg", plot);
    let at = stores.iter().position(|store| store.settled == 100_000).unwrap_or(stores.len() - 1);
    while_searching(lab, &stores[at], facts, &mut section);
    section
}

/// Daemons with as many settled asks as the sizes say. They get ready beside each other, because that can take minutes.
fn stores(lab: &Lab, sizes: &[u64]) -> Vec<Store> {
    let at_most = INDEXING;
    let mut stores: Vec<Store> = thread::scope(|scope| {
        let start = |settled: &u64| {
            progress::note(&format!("a store with {} settled questions", count(*settled as f64)));
            let home = lab.home(Place::Disk);
            seed::store(&home.state("asks.db"), *settled).unwrap();
            let started = Instant::now();
            let server = Server::start_in(lab, Kind::Answerback, home).unwrap();
            let start = started.elapsed();
            let pid = server.pid();
            let idle = scope.spawn(move || process::until_idle(pid, at_most));
            (*settled, server, start, idle)
        };
        let starting: Vec<_> = sizes.iter().map(start).collect();
        progress::note("waiting until the daemons are idle");
        let finish = |(settled, server, start, idle): (_, Server, Duration, thread::ScopedJoinHandle<'_, _>)| {
            let idle: Option<Duration> = idle.join().unwrap();
            let settling = idle.map(|idle| (start + idle).as_secs_f64());
            let (conn, start) = (server.connect(), start.as_secs_f64());
            Store { settled, server, conn, used: Instant::now(), start, settling, key: String::new() }
        };
        starting.into_iter().map(finish).collect()
    });
    for store in stores.iter_mut().filter(|store| store.settling.is_some()) {
        store.keep_connected();
        for _ in 0..99 {
            open(&mut store.conn);
        }
    }
    stores
}

impl Store {
    /// The daemon closes a connection that nobody uses.
    fn keep_connected(&mut self) {
        if self.used.elapsed() > Duration::from_secs(4) {
            self.conn = self.server.connect();
        }
        self.used = Instant::now();
    }
}

/// The stores take turns. A step that is too slow is repeated less often.
fn measure(lab: &Lab, stores: &mut [Store]) -> Vec<Vec<Samples>> {
    let mut times = vec![vec![Samples::default(); stores.len()]; STEPS.len()];
    let mut spent = vec![vec![Duration::ZERO; stores.len()]; STEPS.len()];
    for _ in 0..lab.pick(60, 5) {
        for (step, (word, _, act)) in STEPS.iter().enumerate() {
            for (index, store) in stores.iter_mut().enumerate().filter(|(_, store)| store.settling.is_some()) {
                let is_slow = spent[step][index] >= AT_MOST && times[step][index].len() >= 2;
                // A question that was opened must be answered, or there would be more and more.
                if is_slow && !["open", "answer"].contains(word) {
                    continue;
                }
                store.keep_connected();
                let started = Instant::now();
                act(store);
                times[step][index].push_since(started);
                spent[step][index] += started.elapsed();
            }
        }
    }
    times
}

/// Ends the searches, also if the measurement fails.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Opens questions while others search, and while nobody does.
fn while_searching(lab: &Lab, store: &Store, facts: &mut Facts, section: &mut Section) {
    let rounds = lab.pick(60, 10);
    let mut conn = store.server.connect();
    let mut table = Table::new(["open a question", "median", "p99", "slowest"]);
    let mut opened = |conn: &mut Conn, name: &str, word: &str| {
        let mut times = Samples::default();
        for _ in 0..rounds {
            thread::sleep(Duration::from_millis(5));
            let started = Instant::now();
            let key = open(conn);
            times.push_since(started);
            answer(conn, &key);
        }
        facts.set(format!("searching.{word}"), times.median());
        facts.set(format!("searching.{word}.max"), times.max());
        table.row([
            name.to_owned(),
            or_not(times.median(), time),
            or_not(times.p99(), time),
            or_not(times.max(), time),
        ]);
    };
    opened(&mut conn, "while nobody searches", "idle");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for word in [Words::NEVER, Words::OFTEN] {
            let (is_over, server) = (&is_over, &store.server);
            scope.spawn(move || {
                let mut conn = server.connect();
                while !is_over.load(Ordering::Relaxed) {
                    conn.get(&format!("/v1/asks?state=settled&text={word}")).unwrap().expect(200);
                }
            });
        }
        thread::sleep(Duration::from_millis(50));
        let over = OnDrop(&is_over);
        opened(&mut conn, "while two others search without a pause", "busy");
        drop(over);
    });
    section.text(format!("Does a search hold up others? With {} settled questions:", count(store.settled as f64)));
    section.table(table);
}
