//! A CPU for each launch that runs on one: another than those of all launches on this machine that
//! run on one at the same time, also of other runs.
//!
//! A CPU is claimed by a name in the kernel's abstract socket namespace. It needs no file, is the
//! same for all users, and is free again when its process has ended. Containers have namespaces of
//! their own, so their launches may meet.

use std::sync::atomic::{AtomicUsize, Ordering};

use topdown_counters::machine;
use topdown_run::environment::ONE_CPU;

use crate::targets::bench_targets::BenchTarget;

/// Begins the names of claims.
const NAME: &str = "cargo-topdown-cpu";

/// Number of launches that found all CPUs claimed.
static SHARING: AtomicUsize = AtomicUsize::new(0);

/// A claim, which lasts until it is dropped.
#[cfg(target_os = "linux")]
pub(super) type Claim = std::os::unix::net::UnixDatagram;
#[cfg(not(target_os = "linux"))]
pub(super) type Claim = std::convert::Infallible;

/// Chooses the CPU of a launch of `target`, if it runs on one. Returns the claim, if one was free.
pub(super) fn choose_for(target: &mut BenchTarget) -> Option<Claim> {
    let place = target.environment.get_mut(ONE_CPU)?;
    if place == "0" {
        return None;
    }
    let (chosen, claim) = choose(&machine::allowed_cpus().unwrap_or_default(), NAME);
    *place = (chosen + 1).to_string().into();
    claim
}

/// Returns the place of one of these `cpus`, from the last one on, and the claim if one was free.
fn choose(cpus: &[u32], name: &str) -> (usize, Option<Claim>) {
    let mut places = cpus.iter().rev().enumerate();
    let claimed = places.find_map(|(place, cpu)| Some((place, claim(&format!("{name}-{cpu}"))?)));
    match claimed {
        Some((place, claim)) => (place, Some(claim)),
        None => {
            let launch = SHARING.fetch_add(1, Ordering::Relaxed);
            let place = (std::process::id() as usize + launch) % cpus.len().max(1);
            (place, None)
        }
    }
}

#[cfg(target_os = "linux")]
fn claim(name: &str) -> Option<Claim> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    Claim::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()
}

#[cfg(not(target_os = "linux"))]
fn claim(_: &str) -> Option<Claim> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modelling::model_or_clock::put_on_one_cpu;

    #[test]
    fn only_launches_on_one_cpu_choose_one() {
        let mut target = BenchTarget::named("suite", "bench");
        let chosen = |target: &mut BenchTarget| {
            let has_claim = choose_for(target).is_some();
            let place = target.environment.get(ONE_CPU);
            (has_claim, place.map(|it| it.to_str().unwrap().to_owned()))
        };
        assert_eq!(chosen(&mut target), (false, None));
        target.environment.insert(ONE_CPU.to_owned(), "0".into());
        assert_eq!(chosen(&mut target), (false, Some("0".to_owned())));
        put_on_one_cpu(&mut target);
        let (_, place) = chosen(&mut target);
        assert!(place.unwrap().parse::<usize>().unwrap() > 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn launches_at_the_same_time_have_different_cpus() {
        let name = format!("{NAME}-of-test-{}", std::process::id());
        let choose = || choose(&[2, 3, 7], &name);
        let all = [(); 3].map(|()| choose());
        assert_eq!(all.each_ref().map(|(place, _)| *place), [0, 1, 2]);
        assert!(all.iter().all(|(_, claim)| claim.is_some()));
        // All are claimed, so those that share one differ among themselves.
        let shared = [(); 3].map(|()| choose());
        assert!(shared.iter().all(|(_, claim)| claim.is_none()));
        let mut places = shared.map(|(place, _)| place);
        places.sort_unstable();
        assert_eq!(places, [0, 1, 2]);
        let [_, second, _] = all;
        drop(second);
        assert_eq!(choose().0, 1);
        // Other machines' CPUs are unknown.
        assert_eq!(super::choose(&[], &name).0, 0);
    }
}
