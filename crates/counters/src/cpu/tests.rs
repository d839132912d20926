//! Properties of every table: worked examples, sufficient counters, names.

use super::*;
use topdown_run::category::Category;

/// Formats `value` with as many decimals as `like` has.
fn rounded(value: f64, like: &str) -> String {
    let decimals = like.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{value:.decimals$}")
}

fn percent(fraction: f64, like: &str) -> String {
    rounded(fraction * 100.0, like)
}

fn all_forms() -> impl Iterator<Item = (&'static CpuTable, &'static Form)> {
    TABLES
        .iter()
        .flat_map(|table| table.forms().iter().map(move |form| (*table, form)))
}

#[test]
fn every_formula_reproduces_its_example() {
    for (table, form) in all_forms() {
        let example = &form.example;
        assert_eq!(example.counts.len(), form.events.len(), "{}", table.name);
        // The generic table has no width of its own; its example is for 8.
        let width = table.slots_per_cycle.unwrap_or(8);
        let split = (form.split)(&Counts::new(
            form.events,
            example.counts.iter().copied(),
            width,
        ));
        let check = |slots: f64, expected: &str| {
            let shown = percent(slots / split.slots, expected);
            assert_eq!(shown, expected, "{}: {split:?}", table.name);
        };
        let level1 = split.level1;
        let check_all = |slots: PerCategory<f64>, expected: PerCategory<&str>| {
            let shown = slots.zip(expected);
            let shown = shown.map(|(slots, expected)| percent(slots / split.slots, expected));
            assert_eq!(
                shown.each_ref().map(|text| &**text),
                expected,
                "{}: {split:?}",
                table.name
            );
        };
        check_all(level1.slots, example.level1_percent);
        match (level1.smt_contention_slots, example.smt_contention_percent) {
            (Some(slots), Some(expected)) => check(slots, expected),
            (None, None) => {}
            other => panic!("{}: SMT contention {other:?}", table.name),
        }
        match (split.level2, example.level2_percent) {
            (Some(level2), Some(expected)) => check_all(level2, expected),
            (None, None) => {}
            other => panic!("{}: level 2 {other:?}", table.name),
        }
    }
}

fn all_groups() -> impl Iterator<Item = (&'static CpuTable, &'static MetricGroup)> {
    TABLES
        .iter()
        .copied()
        .chain([&MODELLED])
        .flat_map(|table| table.groups.iter().map(move |group| (table, group)))
}

#[test]
fn every_correction_reproduces_its_example() {
    let corrections = TABLES
        .iter()
        .filter_map(|table| Some((table, table.metrics?, table.slots_per_cycle?)));
    let mut seen = 0;
    for (table, correction, width) in corrections {
        let example = &correction.example;
        assert!(correction.events.len() <= MAX_CORRECTION_EVENTS);
        assert_eq!(example.counts.len(), correction.events.len());
        let slots = |first: usize| {
            PerCategory::from_fn(|category| {
                let fraction = example.fractions[first + category as usize];
                example.slots * f64::from(fraction) / 255.0
            })
        };
        let raw = Split {
            slots: example.slots,
            level1: Level1 {
                slots: slots(0),
                smt_contention_slots: None,
            },
            level2: example.level2_percent.map(|_| slots(4)),
        };
        let counts = Counts::new(correction.events, example.counts.iter().copied(), width);
        let split = (correction.correct)(raw, &counts);
        let (level1, level2) = (split.level1, split.level2.unwrap_or_default());
        let shown = |slots: f64| percent(slots / example.slots, "0.00");
        let assert_shown = |slots: PerCategory<f64>, expected: PerCategory<&str>| {
            let shown = slots.map(shown);
            assert_eq!(
                shown.each_ref().map(|text| &**text),
                expected,
                "{}",
                table.name
            );
        };
        assert_shown(level1.slots, example.level1_percent);
        assert_eq!(shown(level1.total_slots()), "100.00", "{}", table.name);
        if let Some(expected) = example.level2_percent {
            assert_shown(level2, expected);
        }
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn every_metric_reproduces_its_example() {
    const LATENCY_CYCLES: f64 = 10.0;
    for (table, group) in all_groups() {
        let example = &group.example;
        let name = (table.name, group.name);
        assert_eq!(example.counts.len(), group.events.len(), "{name:?}");
        assert_eq!(example.values.len(), group.metrics.len(), "{name:?}");
        let width = example.slots_per_cycle.or(table.slots_per_cycle);
        let counts = Counts::new(
            group.events,
            example.counts.iter().copied(),
            width.unwrap_or(8),
        );
        for (metric, expected) in group.metrics.iter().zip(example.values) {
            let value = metric
                .value(&counts, Some(LATENCY_CYCLES))
                .expect("nothing is divided by 0");
            assert_eq!(rounded(value, expected), *expected, "{name:?}: {metric:?}");
        }
    }
}

/// The self-check of `hardware` looks for an event that its loop must advance.
#[test]
fn every_group_has_an_event_of_any_code() {
    const MOVED: [&str; 9] = [
        "CPU_CYCLES",
        "INST_RETIRED",
        "INST_SPEC",
        "INST_RETIRED.ANY",
        "CPU_CLK_UNHALTED",
        "TOPDOWN.SLOTS_P",
        "ls_not_halted_cyc",
        "ex_ret_instr",
        "instructions",
    ];
    for (table, group) in all_groups() {
        let is_moved = |event: &Event| MOVED.iter().any(|name| event.name.starts_with(name));
        assert!(
            group.events.iter().any(is_moved),
            "{}: {group:?}",
            table.name
        );
    }
}

#[test]
fn names_of_events_have_different_keys() {
    let of_forms = all_forms().map(|(_, form)| form.events);
    let of_groups = all_groups().map(|(_, group)| group.events);
    let mut names = std::collections::HashMap::new();
    for event in of_forms.chain(of_groups).flatten() {
        assert_eq!(*names.entry(event.key()).or_insert(event.name), event.name);
    }
    assert!(names.len() > 100);
}

#[test]
fn metric_of_zero_counts_has_no_value() {
    for (_, group) in all_groups() {
        let nothing = Counts::new(group.events, [], 4);
        let values = group
            .metrics
            .iter()
            .map(|metric| metric.value(&nothing, Some(10.0)));
        assert!(values.flatten().all(|value| value == 0.0), "{}", group.name);
    }
}

#[test]
fn every_countable_category_has_metric_groups() {
    for table in TABLES.iter().filter(|table| !table.forms().is_empty()) {
        for category in Category::ALL {
            let has = table.groups.iter().any(|group| group.is_for(category));
            assert!(has, "{}: {category:?}", table.name);
        }
        let names: std::collections::BTreeSet<&str> =
            table.groups.iter().map(|group| group.name).collect();
        assert_eq!(names.len(), table.groups.len(), "{}", table.name);
    }
}

/// On Ice Lake and Golden Cove, only counters 0 to 3 accept certain codes: Linux,
/// arch/x86/events/intel/core.c, `intel_icl_event_constraints` and `intel_glc_event_constraints`.
#[test]
fn four_counter_codes_fit_four_counters() {
    let is_confined = |event: &&Event| {
        let code = event.config & 0xff;
        event.counter == Counter::General
            && (code < 0x90 && code != 0x2e || (0xd0..=0xdf).contains(&code))
    };
    for (table, group) in all_groups() {
        if ["Ice Lake … Rocket Lake", "Golden Cove"].contains(&table.name) {
            let confined = group.events.iter().filter(is_confined).count();
            assert!(confined <= 4, "{}: {}", table.name, group.name);
        }
    }
}

#[test]
fn every_group_fits_its_machine_without_watchdog() {
    for (table, group) in all_groups() {
        let counters = table.general_counters_for(group.events, false);
        assert!(counters.is_enough(), "{}: {}", table.name, group.name);
        assert!(group.events.len() <= MAX_EVENTS, "{}", table.name);
    }
    for (table, form) in all_forms() {
        let counters = table.general_counters_for(form.events, false);
        assert!(counters.is_enough(), "{}: {counters:?}", table.name);
        assert!(form.events.len() <= MAX_EVENTS, "{}", table.name);
        let in_group = |event: Option<Event>| event.is_none_or(|e| form.events.contains(&e));
        assert!(in_group(form.cycles) && in_group(form.instructions));
    }
}

/// A core, an event, and its published code: `None` if the core has no such event.
const PUBLISHED: [(&str, &str, Option<u64>); 36] = [
    // perfmon LNL 1.26, ARL 1.20 and PTL 1.07. The second field of unit masks is bits 40 to 47.
    ("golden", "BR_MISP_RETIRED.COND", Some(0x11c5)),
    ("lunar", "BR_MISP_RETIRED.COND", Some(0x0100_0000_11c5)),
    ("arrow", "BR_MISP_RETIRED.COND", Some(0x0100_0000_11c5)),
    ("panther", "BR_MISP_RETIRED.COND", Some(0x07c5)),
    ("lunar", "BR_MISP_RETIRED.INDIRECT", Some(0x80c5)),
    ("panther", "BR_MISP_RETIRED.INDIRECT", Some(0x50c5)),
    ("lunar", "ITLB_MISSES.STLB_HIT", Some(0x0100_0000_2011)),
    ("panther", "ITLB_MISSES.STLB_HIT", Some(0x0100_0000_2011)),
    ("lunar", "DTLB_LOAD_MISSES.STLB_HIT", Some(0x0300_0000_2012)),
    (
        "panther",
        "DTLB_LOAD_MISSES.STLB_HIT",
        Some(0x0300_0000_2012),
    ),
    ("golden", "ASSISTS.SSE_AVX_MIX", Some(0x10c1)),
    ("lunar", "ASSISTS.SSE_AVX_MIX", Some(0x10c1)),
    ("panther", "ASSISTS.SSE_AVX_MIX", Some(0x10c1)),
    // perfmon PTL 1.07 and CWF 1.04.
    ("lunar e", "MEM_BOUND_STALLS_LOAD.LLC_MISS", Some(0x7834)),
    ("panther e", "MEM_BOUND_STALLS_LOAD.LLC_MISS", Some(0x3834)),
    ("clearwater", "MEM_BOUND_STALLS_LOAD.LLC_MISS", None),
    (
        "clearwater",
        "MEM_BOUND_STALLS_LOAD.LLC_MISS_LOCALMEM",
        Some(0x1034),
    ),
    (
        "clearwater",
        "MEM_BOUND_STALLS_LOAD.LLC_MISS_OTHERMOD",
        Some(0x0834),
    ),
    // perfmon NVL 1.00: level 1 of Lion Cove and Skymont, but loads moved.
    ("nova", "MEM_LOAD_RETIRED.L1_MISS", Some(0x10d1)),
    ("nova", "MEM_LOAD_RETIRED.FB_HIT", Some(0x08d1)),
    ("lunar", "MEM_LOAD_RETIRED.L1_MISS", Some(0x08d1)),
    ("lunar", "MEM_LOAD_RETIRED.FB_HIT", Some(0x40d1)),
    // Intel SDM 3B, 20.2: architectural events.
    ("family 19", "TOPDOWN_BE_BOUND.ALL_P", Some(0x02a4)),
    ("family 19", "TOPDOWN_FE_BOUND.ALL_P", Some(0x019c)),
    ("family 19", "TOPDOWN_RETIRING.ALL_P", Some(0x02c2)),
    // Arm's telemetry, and Linux 7.3.
    ("v3ae", "STALL_FRONTEND_FLUSH", Some(0x8162)),
    ("v3", "STALL_FRONTEND_FLUSH", Some(0x8162)),
    ("v2", "STALL_FRONTEND_FLUSH", None),
    ("olympus", "CPU_SLOT", Some(0x01e1)),
    (
        "olympus",
        "STALL_SLOT_FRONTEND_WITHOUT_MISPRED",
        Some(0x01e2),
    ),
    ("hip08", "FETCH_BUBBLE", Some(0x2014)),
    ("hip08", "STALL_SLOT", None),
    ("monaka", "STALL_SLOT", None),
    ("monaka", "STALL_BACKEND", Some(0x24)),
    ("0xd7", "BR_MISP_RETIRED.COND", Some(0x11c5)),
    ("0xe5", "BR_MISP_RETIRED.COND", Some(0x07c5)),
];

fn published_table(core: &str) -> &'static CpuTable {
    let (vendor, family, model, pmu) = match core {
        "golden" => ("GenuineIntel", 6, 0x8f, "cpu"),
        "lunar" => ("GenuineIntel", 6, 0xbd, "cpu_core"),
        "lunar e" => ("GenuineIntel", 6, 0xbd, "cpu_atom"),
        "arrow" => ("GenuineIntel", 6, 0xc6, "cpu_core"),
        "panther" => ("GenuineIntel", 6, 0xcc, "cpu_core"),
        "panther e" => ("GenuineIntel", 6, 0xcc, "cpu_atom"),
        "clearwater" => ("GenuineIntel", 6, 0xdd, "cpu"),
        "0xd7" => ("GenuineIntel", 6, 0xd7, "cpu"),
        "0xe5" => ("GenuineIntel", 6, 0xe5, "cpu_core"),
        "nova" => ("GenuineIntel", 18, 1, "cpu_core"),
        "nova e" => ("GenuineIntel", 18, 1, "cpu_atom"),
        "family 19" => ("GenuineIntel", 19, 1, "cpu"),
        "v2" => ("0x41", 8, 0xd4f, "cpu"),
        "v3" => ("0x41", 8, 0xd84, "cpu"),
        "v3ae" => ("0x41", 8, 0xd83, "cpu"),
        "olympus" => ("0x4e", 8, 0x010, "cpu"),
        "hip08" => ("0x48", 8, 0xd01, "cpu"),
        "monaka" => ("0x46", 8, 0x003, "cpu"),
        _ => panic!("{core}"),
    };
    let core = CoreType::from_pmu(pmu);
    let cpu = Identity {
        vendor,
        family,
        model,
        stepping: 0,
        core,
    };
    table_for(&cpu).unwrap()
}

#[test]
fn newest_cores_have_their_published_codes() {
    for (core, name, code) in PUBLISHED {
        let table = published_table(core);
        let groups = table.groups.iter().map(|group| group.events);
        let forms = table.forms().iter().map(|form| form.events);
        let mut events = groups.chain(forms).flatten();
        let event = events.find(|event| event.name == name);
        assert_eq!(event.map(|event| event.config), code, "{core}: {name}");
    }
    let level1 = |core| {
        let forms = published_table(core).forms().iter();
        let events = forms.flat_map(|form| form.events).map(|event| event.config);
        events.collect::<Vec<_>>()
    };
    assert_eq!(level1("nova"), level1("lunar"));
    assert_eq!(level1("nova e"), level1("lunar e"));
    let monaka = &published_table("monaka").level1;
    assert!(matches!(monaka, Level1Counting::Unsupported(why) if why.contains("count cycles")));
}

/// RISC-V has no CPUID vendor and no implementer of Arm's.
#[test]
fn risc_v_has_no_table() {
    let core = CoreType::Performance;
    let cpu = Identity {
        vendor: "",
        family: 0,
        model: 0,
        stepping: 0,
        core,
    };
    assert!(table_for(&cpu).is_none());
}

#[test]
fn no_group_counts_an_event_twice() {
    let groups = all_forms()
        .map(|(_, form)| form.events)
        .chain(all_groups().map(|(_, group)| group.events));
    for group in groups {
        let configs: std::collections::BTreeSet<u64> = group.iter().map(|e| e.config).collect();
        assert_eq!(configs.len(), group.len(), "{group:?}");
        let names: std::collections::BTreeSet<&str> = group.iter().map(|e| e.name).collect();
        assert_eq!(names.len(), group.len(), "{group:?}");
    }
}

#[test]
fn watchdog_takes_a_counter_some_groups_need() {
    let fits_beside_watchdog = |name: &str| -> Vec<bool> {
        let table = TABLES.iter().find(|table| table.name == name).unwrap();
        table
            .forms()
            .iter()
            .map(|form| table.general_counters_for(form.events, true).is_enough())
            .collect()
    };
    assert_eq!(fits_beside_watchdog("Skylake … Cascade Lake"), [false]);
    assert_eq!(fits_beside_watchdog("Ice Lake … Rocket Lake"), [true, true]);
    assert_eq!(fits_beside_watchdog("Golden Cove"), [false, true, true]);
    assert_eq!(fits_beside_watchdog("Tremont"), [false]);
    assert_eq!(fits_beside_watchdog("Gracemont"), [true]);
    assert_eq!(fits_beside_watchdog("Zen 4"), [false, true]);
}

#[test]
fn formula_is_versioned_and_has_one_table() {
    for (table, form) in all_forms() {
        let (name, version) = form.formula.split_once('/').expect("name/version");
        assert!(!name.is_empty() && version.parse::<u32>().is_ok());
        for (other, other_form) in all_forms() {
            assert!(
                form.formula != other_form.formula || std::ptr::eq(table, other),
                "{} of {} and {}",
                form.formula,
                table.name,
                other.name
            );
        }
    }
}

#[test]
fn every_table_has_a_row_in_the_documentation() {
    let rows = include_str!("../../../../docs/cpus.md");
    for table in TABLES.iter().filter(|table| table.name != "Arm") {
        let is_row = |row: &str| row.starts_with('|') && row.contains(table.name);
        assert!(rows.lines().any(is_row), "{}", table.name);
    }
}

#[test]
fn table_without_counts_names_measurable_events() {
    for table in TABLES {
        if let Level1Counting::Unsupported(why) = table.level1 {
            assert!(why.contains("measured"), "{}: {why}", table.name);
        }
    }
}
