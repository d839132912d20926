//! Measures latencies and throughputs on this machine and compares them with the model's for the
//! same code.
//!
//!     cargo run --release -p topdown-model-lab --bin measure-table -- zen-5
//!
//! Each row is a loop of one instruction, once as a dependent chain and once independent. Both are
//! timed as a ratio to a chain of dependent additions, which runs at one per cycle on every core,
//! so that the clock frequency and its changes do not matter. x86-64 Linux only.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod code;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod rows;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::cores;

    let name = std::env::args().nth(1).unwrap_or_else(|| "zen-5".into());
    let core = cores::by_name(&name).ok_or_else(|| {
        let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
        format!("no core `{name}`; known: {}", known.join(", "))
    })?;
    let clock = code::Clock::new()?;
    println!("cycles per instruction, measured here and modelled as {name}");
    println!(
        "{:<16} {:>9} {:>9}   {:>11} {:>9}",
        "instruction", "chain", "model", "independent", "model"
    );
    for row in rows::rows() {
        let mut cells = Vec::new();
        for write in [row.chain, row.independent] {
            let loop_code = code::Loop::new(write)?;
            let measured = clock.cycles(&loop_code)? / row.instructions;
            let modelled = loop_code.modelled_cycles(core) / row.instructions;
            cells.push((measured, modelled));
        }
        let mark = |(measured, modelled): (f64, f64)| {
            if (measured - modelled).abs() > 0.25 * measured.max(0.25) {
                "*"
            } else {
                " "
            }
        };
        println!(
            "{:<16} {:>9.2} {:>9.2} {} {:>11.2} {:>9.2} {}",
            row.name,
            cells[0].0,
            cells[0].1,
            mark(cells[0]),
            cells[1].0,
            cells[1].1,
            mark(cells[1])
        );
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("measure-table runs on x86-64 Linux only");
}
