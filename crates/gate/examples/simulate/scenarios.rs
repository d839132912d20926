//! The tables of the scenarios.

use std::io::{self, Write};

use super::{DESIGNS, Design, Table};
use crate::simulation::advice::{ADVISED_BENCHMARKS, ADVISED_PERCENT, Advice};
use crate::simulation::machine::{MACHINES, Machine, SHARED_MACHINE};
use crate::simulation::scenarios::{
    AUTOCORRELATIONS, BROAD, DOUBLED_TIME, DRIFTING, DRIFTS_OF_TIME, DRIFTS_OF_YEARS_PERCENT,
    EARLIER_RUNS, KNOWN, LONGER_AT_FLAT_SLOTS, LONGER_BESIDE_MODELLED, ONE_SLOWER_IN_TIME,
    SCENARIO_MACHINES, SIZES_BESIDE_MODELLED, SIZES_OF_DRIFT, SIZES_OF_DRIFT_KINDS,
    SIZES_OF_SLOW_PATHS, SIZES_OF_TIME, SIZES_OF_YEARS, SLOW_PATHS, SLOWER_BACKEND,
    SLOWER_RETIRING, SMALL_SUITES, TimeDrift, UNLUCKY, WILD, WILD_CHANGES, YEARLY, slow_path,
    unchanged, with_wild,
};
use crate::simulation::year::{MERGES, Years};
use crate::simulation::{Experiment, Kind, PlantedChange, Tally, TimeOnly};
use topdown_gate::statistics::outlook::MAX_LAUNCHES;

/// 10/5 and 10/10.
const USUAL_DESIGNS: [Design; 2] = [DESIGNS[2], DESIGNS[3]];
/// Standard deviations, over benchmarks, of the difference between two sessions.
const DRIFTS_PERCENT: [u32; 4] = [0, 1, 2, 3];

/// Prints the tables of `table`, if it is one of these.
pub fn write(
    out: &mut impl Write,
    table: Table,
    seed: u64,
    suites: u64,
    sizes: &[usize],
) -> io::Result<()> {
    let sizes = match (table, sizes) {
        (Table::Time, []) => &SIZES_OF_TIME[..],
        (Table::Drift, []) => &SIZES_OF_DRIFT[..],
        (Table::DriftKinds, []) => &SIZES_OF_DRIFT_KINDS[..],
        (Table::Years, []) => &SIZES_OF_YEARS[..],
        (Table::TimeBesideSlots, []) => &SIZES_BESIDE_MODELLED[..],
        (_, sizes) => sizes,
    };
    match table {
        Table::Unchanged | Table::Planted => Ok(()),
        Table::Drift => drift(out, seed, suites, sizes),
        Table::DriftKinds => drift_kinds(out, seed, suites, sizes),
        Table::SmallSuites => small_suites(out, seed, suites),
        Table::Years => years(out, seed, suites, sizes),
        Table::Neighbours => neighbours(out, seed, suites),
        Table::SlowPaths => slow_paths(out, seed, suites),
        Table::Broad => broad(out, seed, suites),
        Table::Wild => wild(out, seed, suites),
        Table::Time => {
            time_alone(out, seed, suites, sizes, 0)?;
            time_alone(out, seed, suites, sizes, EARLIER_RUNS)
        }
        Table::Advice => advice(out, seed, suites),
        Table::FlatSlots => flat_slots(out, seed, suites),
        Table::Modelled => modelled(out, seed, suites),
        Table::TimeBesideSlots => time_beside_slots(out, seed, suites, sizes),
    }
}

fn heading(out: &mut impl Write, title: &str, columns: &[String]) -> io::Result<()> {
    write!(out, "\n{title}\n\n{:<36}", "")?;
    for column in columns {
        write!(out, "{column:>18}")?;
    }
    writeln!(out)
}

fn row(out: &mut impl Write, name: &str, cells: impl Iterator<Item = String>) -> io::Result<()> {
    write!(out, "{name:<36}")?;
    for cell in cells {
        write!(out, "{cell:>18}")?;
        out.flush()?;
    }
    writeln!(out)
}

fn drift(out: &mut impl Write, seed: u64, suites: u64, sizes: &[usize]) -> io::Result<()> {
    let columns: Vec<String> = SCENARIO_MACHINES
        .iter()
        .flat_map(|machine| {
            USUAL_DESIGNS.map(|design| format!("{} {}", machine.name, super::shown(design)))
        })
        .collect();
    let title = format!(
        "Nothing changed, and each benchmark drifts between the sessions: failing of {suites} \
         suites"
    );
    heading(out, &title, &columns)?;
    for &benchmarks in sizes {
        for percent in DRIFTS_PERCENT {
            let name = format!("{benchmarks} benchmarks, drift {percent} %");
            let cells = SCENARIO_MACHINES.iter().flat_map(|machine| {
                USUAL_DESIGNS.map(|design| {
                    let experiment = Experiment {
                        seed,
                        suites,
                        design,
                        ..unchanged(*machine, benchmarks, f64::from(percent) / 100.0)
                    };
                    experiment.run().suites_failing.to_string()
                })
            });
            row(out, &name, cells)?;
        }
    }
    Ok(())
}

fn drift_kinds(out: &mut impl Write, seed: u64, suites: u64, sizes: &[usize]) -> io::Result<()> {
    let title = format!(
        "Drift of each kind, 10/10: failing of {suites} unchanged suites, and found of +5 % in one \
         benchmark in ten: of retiring, of backend bound, and of the latter in the third of \
         benchmarks that is most backend bound"
    );
    let columns = SCENARIO_MACHINES.map(|machine| machine.name.to_owned());
    heading(out, &title, &columns)?;
    for &benchmarks in sizes {
        for drifting in DRIFTING {
            for percent in DRIFTS_PERCENT {
                let name = format!("{benchmarks}, {}, {percent} %", drifting.name);
                let cells = SCENARIO_MACHINES.iter().map(|machine| {
                    let machine = drifting.on(*machine, f64::from(percent) / 100.0);
                    let tally = |planted, suites| {
                        Experiment {
                            seed,
                            suites,
                            machine,
                            planted,
                            ..unchanged(machine, benchmarks, machine.session_deviation)
                        }
                        .run()
                    };
                    let unchanged = tally(&[], suites);
                    let planted_suites = suites.div_ceil(1 + benchmarks as u64 / 40);
                    let retiring = tally(&SLOWER_RETIRING, planted_suites);
                    let backend = tally(&SLOWER_BACKEND, planted_suites);
                    format!(
                        "{} {:.0} {:.0} {:.0}",
                        unchanged.suites_failing,
                        retiring.power() * 100.0,
                        backend.power() * 100.0,
                        100.0 * backend.found_heavy as f64 / backend.planted_heavy as f64,
                    )
                });
                row(out, &name, cells)?;
            }
        }
    }
    Ok(())
}

fn small_suites(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let title = format!(
        "Drift of small suites, quiet, 10/10: failing of {suites} unchanged suites, and found of \
         +5 % in the first benchmark, of retiring and of backend bound"
    );
    let columns = KNOWN.map(|known| known.name.to_owned());
    heading(out, &title, &columns)?;
    for benchmarks in SMALL_SUITES {
        for drifting in [DRIFTING[0], DRIFTING[3]] {
            for percent in DRIFTS_PERCENT {
                let machine = drifting.on(SCENARIO_MACHINES[0], f64::from(percent) / 100.0);
                let cells = KNOWN.map(|known| {
                    let tally = |planted| {
                        Experiment {
                            seed,
                            suites,
                            machine,
                            planted,
                            other_code_every: known.other_code_every,
                            earlier: known.earlier,
                            ..unchanged(machine, benchmarks, machine.session_deviation)
                        }
                        .run()
                    };
                    format!(
                        "{} {:.0} {:.0}",
                        tally(&[]).suites_failing,
                        tally(&SLOWER_RETIRING).power() * 100.0,
                        tally(&SLOWER_BACKEND).power() * 100.0,
                    )
                });
                let name = format!("{benchmarks}, {}, {percent} %", drifting.name);
                row(out, &name, cells.into_iter())?;
            }
        }
    }
    Ok(())
}

fn years(out: &mut impl Write, seed: u64, suites: u64, sizes: &[usize]) -> io::Result<()> {
    let years = suites.div_ceil(10);
    let title = format!(
        "{MERGES} merges of a year in which nothing changed, shared, 10/10, a history of 30 runs: \
         failing per year (in the worst of {years})"
    );
    let columns = YEARLY.map(|allowed| match allowed {
        None => "alpha 0.05".to_owned(),
        Some(alarms) => format!("{alarms} per year"),
    });
    heading(out, &title, &columns)?;
    for (name, kind) in [("time alone", Kind::TimeAlone), ("counters", Kind::Counted)] {
        for &benchmarks in sizes {
            for percent in DRIFTS_OF_YEARS_PERCENT {
                let drift = f64::from(percent) / 100.0;
                let machine = Machine {
                    session_deviation: drift,
                    session_time_shift: drift,
                    ..SHARED_MACHINE
                };
                let cells = YEARLY.iter().map(|allowed| {
                    let (failing, worst) = Years {
                        seed,
                        years,
                        benchmarks,
                        machine,
                        kind,
                        launches: 10,
                        allowed: *allowed,
                    }
                    .run();
                    format!("{:.1} ({worst})", failing as f64 / years as f64)
                });
                row(
                    out,
                    &format!("{benchmarks}, {name}, drift {percent} %"),
                    cells,
                )?;
            }
        }
    }
    Ok(())
}

fn neighbours(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let title = format!(
        "Launches that resemble the one before, shared, 10/10: failing of {suites} unchanged suites"
    );
    heading(
        out,
        &title,
        &SIZES_OF_DRIFT_KINDS.map(|size| size.to_string()),
    )?;
    for autocorrelation in AUTOCORRELATIONS {
        let machine = Machine {
            autocorrelation,
            ..SHARED_MACHINE
        };
        let cells = SIZES_OF_DRIFT_KINDS.map(|benchmarks| {
            let experiment = Experiment {
                seed,
                suites,
                ..unchanged(machine, benchmarks, 0.0)
            };
            experiment.run().suites_failing.to_string()
        });
        row(
            out,
            &format!("correlation {autocorrelation}"),
            cells.into_iter(),
        )?;
    }
    Ok(())
}

fn slow_paths(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    for benchmarks in SIZES_OF_SLOW_PATHS {
        slow_paths_of(out, seed, suites, benchmarks)?;
    }
    Ok(())
}

fn slow_paths_of(
    out: &mut impl Write,
    seed: u64,
    suites: u64,
    benchmarks: usize,
) -> io::Result<()> {
    let planted_suites = suites.div_ceil(5);
    let title = format!(
        "A slow path in some launches of one in ten, {benchmarks} benchmarks, 10/10: failing and \
         wrongly \"sometimes slower\" of {suites} unchanged suites, permille of benchmarks that \
         may be; percent failing, \"sometimes slower\" and unchanged in {planted_suites}"
    );
    let machines: Vec<(String, Machine)> = UNLUCKY
        .iter()
        .flat_map(|(name, unlucky_one_in, old_path_every)| {
            MACHINES.map(|machine| {
                let unlucky = Machine {
                    unlucky_one_in: *unlucky_one_in,
                    old_path_every: *old_path_every,
                    ..machine
                };
                (format!("{}{name}", machine.name), unlucky)
            })
        })
        .collect();
    let columns: Vec<String> = machines.iter().map(|(name, _)| name.clone()).collect();
    heading(out, &title, &columns)?;
    let tally = |machine: &Machine, planted: &[PlantedChange], suites| {
        Experiment {
            seed,
            suites,
            machine: *machine,
            planted,
            ..unchanged(*machine, benchmarks, machine.session_deviation)
        }
        .run()
    };
    let cells = machines.iter().map(|(_, machine)| {
        let tally = tally(machine, &[], suites);
        let maybe = 1000.0 * tally.maybe_sometimes as f64 / tally.unchanged as f64;
        let (failing, wrong) = (tally.suites_failing, tally.suites_with_false_slow_path);
        format!("{failing} {wrong} {maybe:.1}")
    });
    row(out, "nothing changed", cells)?;
    for (launches_fraction, size) in SLOW_PATHS {
        let planted = [slow_path(launches_fraction, size)];
        let cells = machines.iter().map(|(_, machine)| {
            let tally = tally(machine, &planted, planted_suites);
            let percent = |count: usize| 100.0 * count as f64 / tally.planted as f64;
            format!(
                "{:.0} {:.0} {:.0}",
                percent(tally.found),
                percent(tally.found_sometimes),
                percent(tally.called_unchanged),
            )
        });
        let name = format!(
            "{:.0} % of launches, {:+.0} %",
            launches_fraction * 100.0,
            size * 100.0
        );
        row(out, &name, cells)?;
    }
    Ok(())
}

/// Formats the failing suites, the power, and the suites with an additional false alarm.
fn found(tally: &Tally) -> String {
    let found = format!("{}, {:.0} %", tally.suites_failing, tally.power() * 100.0);
    match tally.suites_with_false_alarm {
        0 => found,
        suites => format!("{found} ({suites})"),
    }
}

fn broad(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let suites = suites.div_ceil(5);
    let title = format!(
        "Much changed at once, 10/10: failing of {suites} suites, found of what got slower (suites \
         with a false alarm)"
    );
    let columns = SCENARIO_MACHINES.map(|machine| machine.name.to_owned());
    heading(out, &title, &columns)?;
    for broad in BROAD {
        let cells = SCENARIO_MACHINES
            .iter()
            .map(|machine| found(&broad.on(*machine, seed.wrapping_add(1), suites).run()));
        row(out, broad.name, cells)?;
    }
    Ok(())
}

fn wild(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let suites = suites.div_ceil(5);
    let title = format!(
        "One launch of every benchmark is wild, 10/10, 30 benchmarks: failing of {suites} suites, \
         found"
    );
    heading(out, &title, &WILD.map(|(name, _)| name.to_owned()))?;
    for machine in [SHARED_MACHINE, MACHINES[2]] {
        for (name, planted) in WILD_CHANGES {
            let cells = WILD.iter().map(|(_, wild)| {
                let seed = seed.wrapping_add(2);
                let tally = with_wild(*wild, planted, machine, seed, suites).run();
                match planted {
                    [] => tally.suites_failing.to_string(),
                    _ => found(&tally),
                }
            });
            row(out, &format!("{}, {name}", machine.name), cells)?;
        }
    }
    Ok(())
}

/// A column of failing suites and one of what was found for each drift.
fn columns_of_time() -> Vec<String> {
    let columns = |drift: &TimeDrift| {
        let [own, shift] = [drift.deviation, drift.shift].map(|part| part * 100.0);
        [format!("{own:.0} %, {shift:+.0} %"), "found".to_owned()]
    };
    DRIFTS_OF_TIME.iter().flat_map(columns).collect()
}

fn time_alone(
    out: &mut impl Write,
    seed: u64,
    suites: u64,
    sizes: &[usize],
    earlier: usize,
) -> io::Result<()> {
    let history = match earlier {
        0 => String::new(),
        runs => format!(", {runs} earlier runs"),
    };
    let title = format!(
        "Time alone{history}, shared, 10/10, drift of each benchmark and of the machine: failing \
         of {suites} unchanged suites, and +30 % of one benchmark found"
    );
    heading(out, &title, &columns_of_time())?;
    for &benchmarks in sizes {
        let cells = DRIFTS_OF_TIME.iter().flat_map(|drift| {
            let tally = |planted, seed| {
                let experiment = drift.experiment(benchmarks, planted, seed, suites);
                Experiment {
                    earlier,
                    ..experiment
                }
                .run()
            };
            let changed = tally(&ONE_SLOWER_IN_TIME, seed.wrapping_add(1));
            [
                tally(&[], seed).suites_failing.to_string(),
                format!("{:.0} %", changed.power() * 100.0),
            ]
        });
        row(out, &format!("{benchmarks} benchmarks"), cells)?;
    }
    Ok(())
}

fn time_beside_slots(
    out: &mut impl Write,
    seed: u64,
    suites: u64,
    sizes: &[usize],
) -> io::Result<()> {
    let title = format!(
        "Only time, beside modelled slots, shared, 10/10, drift of each benchmark and of the \
         machine: failing of {suites} unchanged suites, and +30 % of one benchmark found"
    );
    heading(out, &title, &columns_of_time())?;
    for &benchmarks in sizes {
        for longer_percent in LONGER_BESIDE_MODELLED {
            let of_time = TimeOnly {
                benchmarks,
                longer_percent,
            };
            let cells = DRIFTS_OF_TIME.iter().flat_map(|drift| {
                let tally =
                    |planted, seed| drift.beside_modelled(of_time, planted, seed, suites).run();
                let changed = tally(&ONE_SLOWER_IN_TIME, seed.wrapping_add(1));
                [
                    tally(&[], seed).suites_failing.to_string(),
                    format!("{:.0} %", changed.power() * 100.0),
                ]
            });
            let name = format!("{benchmarks} of time, all {longer_percent:+} %");
            row(out, &name, cells)?;
        }
    }
    Ok(())
}

fn advice(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let suites = suites.div_ceil(20);
    let title = format!(
        "Advice for undecided benchmarks, 10/10, {ADVISED_BENCHMARKS} benchmarks, {suites} suites: \
         \"needs N to M launches\", decided by N and by M; \"even {MAX_LAUNCHES} decide few\", \
         decided by them; \"no number of launches\" or \"too noisy\", undecided by {MAX_LAUNCHES}"
    );
    let columns = [
        "needs",
        "by N",
        "by M",
        "open",
        "by 50",
        "no number",
        "indeed",
        "too noisy",
        "indeed",
    ];
    heading(out, &title, &columns.map(str::to_owned))?;
    for machine in [SHARED_MACHINE, MACHINES[3]] {
        for percent in ADVISED_PERCENT {
            let seed = seed.wrapping_add(3);
            let advice = Advice::over(machine, f64::from(percent) / 100.0, seed, suites);
            let share = |part: usize, whole: usize| match whole {
                0 => "-".to_owned(),
                _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
            };
            let cells = [
                advice.needs.to_string(),
                share(advice.decided_by_half, advice.needs),
                share(advice.decided_by_most, advice.needs_most),
                advice.open.to_string(),
                share(advice.open_decided, advice.open),
                advice.no_number.to_string(),
                share(advice.no_number_indeed, advice.no_number),
                advice.too_noisy.to_string(),
                share(advice.too_noisy_indeed, advice.too_noisy),
            ];
            row(
                out,
                &format!("{}, +{percent} %", machine.name),
                cells.into_iter(),
            )?;
        }
    }
    Ok(())
}

fn flat_slots(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let suites = suites.div_ceil(3);
    let title = format!(
        "One in ten of 200 takes 8 % longer at flat slots, shared, {suites} suites: found, called \
         unchanged, suites with a false alarm"
    );
    heading(
        out,
        &title,
        &["found", "unchanged", "false"].map(str::to_owned),
    )?;
    for design in USUAL_DESIGNS {
        let tally = Experiment {
            seed: seed.wrapping_add(4),
            suites,
            design,
            planted: &LONGER_AT_FLAT_SLOTS,
            ..unchanged(SHARED_MACHINE, 200, 0.0)
        }
        .run();
        let called_unchanged = 100.0 * tally.called_unchanged as f64 / tally.planted as f64;
        let cells = [
            format!("{:.0} %", tally.power() * 100.0),
            format!("{called_unchanged:.0} %"),
            tally.suites_with_false_alarm.to_string(),
        ];
        row(out, &super::shown(design), cells.into_iter())?;
    }
    Ok(())
}

fn modelled(out: &mut impl Write, seed: u64, suites: u64) -> io::Result<()> {
    let title = format!(
        "Time beside modelled slots, 30 benchmarks, 10/10: failing of {suites} suites, and found \
         of one in ten that takes 2.2 times as long"
    );
    heading(
        out,
        &title,
        &MACHINES.map(|machine| machine.name.to_owned()),
    )?;
    for (name, planted) in [("nothing changed", &[][..]), ("changed", &DOUBLED_TIME)] {
        let cells = MACHINES.iter().map(|machine| {
            let tally = Experiment {
                kind: Kind::Modelled,
                ..with_wild(None, planted, *machine, seed, suites)
            }
            .run();
            match planted {
                [] => tally.suites_failing.to_string(),
                _ => found(&tally),
            }
        });
        row(out, name, cells)?;
    }
    Ok(())
}
