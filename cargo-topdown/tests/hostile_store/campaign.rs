//! The fault campaign: full disks, I/O errors, renames to another file system, signals and kills at
//! each writing system call of each command that writes, and kills at any time. No existing run is
//! lost, none is incomplete, the same command succeeds afterwards, and the next one clears the
//! temporary files. `tests/bench/faults.rs` has the commands that build and launch benches.
//!
//! It takes minutes and needs strace, so it runs only on request: `cargo test -p cargo-topdown
//! --test hostile_store -- --ignored --nocapture campaign`. `CAMPAIGN_COMMAND=gc` selects the
//! commands whose names contain this, `CAMPAIGN_ONE_OF=4` every fourth fault and kill.
//! `CAMPAIGN_ALL_CALLS=1` kills at every system call, also at those that write nothing.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::scenarios::{SCENARIOS, Scenario};
use super::stage::{Place, kills_everywhere};

const KILLS: u32 = 1000;
/// The most calls of one name that meet each fault, unless every call is killed at.
const MAX_CALLS: u32 = 40;

fn wanted_scenarios() -> impl Iterator<Item = &'static Scenario> {
    let wanted = std::env::var("CAMPAIGN_COMMAND").unwrap_or_default();
    let scenarios = SCENARIOS.iter();
    scenarios.filter(move |scenario| scenario.name.contains(&wanted))
}

/// The faults that `call` meets. Directories of a network may be of other file systems.
fn faults_of(call: &str) -> Vec<&'static str> {
    let mut faults = vec!["signal=KILL"];
    if !kills_everywhere() {
        faults.extend(["signal=INT", "error=ENOSPC", "error=EIO"]);
        if call.starts_with("rename") {
            faults.push("error=EXDEV");
        }
    }
    faults
}

fn one_of() -> u32 {
    let one_of = std::env::var("CAMPAIGN_ONE_OF").ok();
    one_of.map_or(1, |number| number.parse().unwrap())
}

#[test]
#[ignore = "takes minutes and needs strace"]
fn write_fault_campaign_loses_nothing() {
    let place = Place::new();
    let (mut total, mut met) = (0, 0);
    for scenario in wanted_scenarios() {
        place.restore();
        let calls = place.calls(scenario.words);
        let (mut tried, mut failed, mut left, mut beside) = (0, 0, 0, 0);
        for (call, count) in &calls {
            let faults = faults_of(call).into_iter();
            let step = match kills_everywhere() {
                true => 1,
                false => count.div_ceil(MAX_CALLS) as usize,
            };
            for (fault, number) in
                faults.flat_map(|f| (1..=*count).step_by(step).map(move |n| (f, n)))
            {
                met += 1;
                if met % one_of() != 0 {
                    continue;
                }
                place.restore();
                let mut command = place.with_fault(call, fault, number, scenario.words);
                let succeeded = command.status().unwrap().success();
                let what = format!("{}: {call} {number}: {fault}", scenario.name);
                left += place.left_behind();
                beside += place.unfinished().len();
                place.check(scenario, succeeded, &what);
                tried += 1;
                failed += u32::from(!succeeded);
            }
        }
        eprintln!(
            "{}: {tried} faults, {failed} failed the command and left {left} temporary files and \
             {beside} beside their targets for the next one; {calls:?}",
            scenario.name
        );
        total += tried;
    }
    eprintln!("{total} faults in all; nothing is lost");
}

#[test]
#[ignore = "takes minutes"]
fn kill_campaign_loses_nothing() {
    let place = Place::new();
    let seed = std::process::id();
    eprintln!("seed {seed}");
    let mut random = u64::from(seed) | 1;
    let (mut tried, mut killed) = (0, 0);
    for scenario in wanted_scenarios() {
        place.restore();
        let begun_at = Instant::now();
        place.succeeds("workspace", scenario.words);
        let takes = begun_at.elapsed();
        for number in 0..KILLS.div_ceil(SCENARIOS.len() as u32 * one_of()) {
            tried += 1;
            place.restore();
            let mut child = place.plain("workspace", scenario.words).spawn().unwrap();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::thread::sleep(takes.mul_f64((random % 1000) as f64 / 1000.0));
            let group = format!("-{}", child.id());
            // Fails if all have exited.
            let _ = Command::new("kill")
                .args(["-KILL", "--", &group])
                .stderr(Stdio::null())
                .status();
            let status = child.wait().unwrap();
            // git, in the same group, can take a moment longer.
            std::thread::sleep(Duration::from_millis(2));
            killed += u32::from(status.signal() == Some(9));
            let what = format!("{}: kill {number}", scenario.name);
            place.check(scenario, status.success(), &what);
        }
    }
    eprintln!("{tried} kills, {killed} before the end; nothing is lost");
}
