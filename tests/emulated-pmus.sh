#!/usr/bin/env bash
# Checks windows on emulated machines with real kernels: run it after every change of the counters.
#
#     tests/emulated-pmus.sh PMU_VM [costs]
#
# PMU_VM is a program that boots a Linux kernel on an emulated PMU and runs a command there:
#     PMU_VM --cpu CPU --kernel VERSION [--rdpmc N] [--env NAME=VALUE] FILE -- COMMAND
# With `costs` it prints the table of docs/cpus.md and checks nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
pmu_vm=${1:?the path of pmu-vm is missing}
what=${2-checks}
cargo build --release --locked --quiet --example windows
program=${CARGO_TARGET_DIR:-target}/release/examples/windows

failed=()

# usage: run "CHECKS" OPTIONS OF PMU_VM…
run() {
    local checks=$1 check
    shift
    local command=true
    for check in $checks; do
        command+=" && ./windows $check"
    done
    echo "== $* : $checks"
    "$pmu_vm" --set perf_event_paranoid=1 "$@" "$program" -- sh -c "$command" || failed+=("$*: $checks")
}

metrics=(--env CARGO_TOPDOWN_COUNTERS=metrics)
exact=(--env CARGO_TOPDOWN_COUNTERS=exact)

if [ "$what" = costs ]; then
    echo '| formula | inside: instructions | slots | outside: instructions | slots | both: ns | system calls |'
    for cpu in "spr ${metrics[*]}" "spr ${exact[*]}" "icx ${metrics[*]}" "icx ${exact[*]}" skx zen4 \
        "adl ${metrics[*]}" "spr --rdpmc 0 ${metrics[*]}" "spr --rdpmc 0 ${exact[*]}"; do
        # shellcheck disable=SC2086 # Options.
        run costs --cpu $cpu
    done
else
    # Hybrid machines: the thread moves to the other kind of core at every instruction.
    run 'moves' --cpu adl "${metrics[@]}"
    run 'moves' --cpu adl --kernel 6.12 "${metrics[@]}"
    run 'moves' --cpu adl "${exact[@]}"
    run 'nested calls' --cpu adl
    # Root forbids RDPMC at every instruction.
    run 'forbidden' --cpu spr "${metrics[@]}"
    run 'forbidden' --cpu zen4
    # The only CPU of its kind on which the thread may run goes away.
    run 'offline' --cpu spr --smp 2 "${metrics[@]}"
    run 'nested calls' --cpu spr "${metrics[@]}"
    run 'nested calls' --cpu spr "${exact[@]}"
    run 'nested calls' --cpu spr --rdpmc 0 "${metrics[@]}"
    run 'nested calls' --cpu spr --rdpmc 0 "${exact[@]}"
    run 'nested calls' --cpu spr --env CARGO_TOPDOWN_THREADS=all
    run 'nested calls' --cpu icx --kernel 6.12
    run 'nested calls' --cpu skx
    run 'nested calls' --cpu zen4 --kernel 6.12
fi

if [ ${#failed[@]} -gt 0 ]; then
    printf 'failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
