//! Flame graphs of slots: the functions on each call path as boxes below their callers.
//!
//! The drawing is our own. `inferno`, the library for flame graphs, draws one number per path in
//! one colour. Its search and zoom are a script inside an SVG with handlers as attributes, which
//! the page's policy forbids, and its colours are fixed. Here each box has its four categories, and
//! the page's own script lays the boxes out again for one of them.

use std::collections::HashMap;

use topdown_gate::function_name::FunctionKind;
use topdown_gate::path_changes::{PathChange, path_changes};
use topdown_run::category::{Category, PerCategory};
use topdown_run::run_file::{Benchmark, CallPath, CallPaths, CalledFunction};

use super::style_of;
use crate::function_rows::label_of;
use crate::number::{percent, percent_change, slots};

/// Narrower boxes, as a fraction of the graph, are left out.
const MIN_WIDTH: f64 = 0.002;

/// A path grew or shrank if its difference is at least this many percent of the baseline's slots.
/// From each of the others on, the colour is stronger.
const MIN_CHANGE_PERCENT: [f64; 3] = [0.2, 2.0, 10.0];

/// The flame graph of a run, or of the difference between two.
pub struct FlameGraph {
    pub caption: String,
    /// From how many percent on a difference has each colour; `None` for a single run.
    pub min_changes_percent: Option<[f64; 3]>,
    /// The number of boxes on the longest path.
    pub depth: usize,
    pub categories: Vec<CategoryChoice>,
    pub boxes: Vec<FlameBox>,
}

/// A category whose slots alone may be shown.
pub struct CategoryChoice {
    pub name: &'static str,
    pub style: &'static str,
    /// Its index in a box's lists.
    pub index: usize,
}

/// A function on a path.
pub struct FlameBox {
    pub name: String,
    /// What it says in words.
    pub title: String,
    /// The index of its caller's box; empty for the first on a path.
    pub caller: String,
    pub level: usize,
    /// In percent of the graph.
    pub left: String,
    pub width: String,
    /// Where the stripes of its categories end, in percent of the box.
    pub stripes: [String; 3],
    /// Its slots by category, for the script.
    pub slots: String,
    /// Their differences in percent of the baseline's slots, for the script.
    pub differences: String,
    /// The class of its colour.
    pub style: String,
}

impl FlameGraph {
    /// Returns the graph of one run.
    pub fn for_run(benchmark: &Benchmark) -> Option<FlameGraph> {
        let paths = windows_as_one(benchmark.call_paths.as_ref()?);
        let caption = "Flame graph: slots per iteration of each call path; a box is a function, \
                       below its caller, as wide as its slots with those of what it called"
            .to_owned();
        FlameGraph::new(caption, path_changes(&paths, &paths), None)
    }

    /// Returns the graph of the candidate's paths, coloured by the difference to the baseline.
    pub fn for_difference(runs: [Option<&Benchmark>; 2]) -> Option<FlameGraph> {
        let before = windows_as_one(runs[0]?.call_paths.as_ref()?);
        let after = windows_as_one(runs[1]?.call_paths.as_ref()?);
        let was = before.total().slots() as f64 / before.iterations as f64;
        let caption = "Differential flame graph: as wide as the candidate's slots, coloured where \
                       a call path has more slots than in the baseline or fewer"
            .to_owned();
        FlameGraph::new(caption, path_changes(&before, &after), Some(was))
    }

    /// Lays out `paths`; `was` is the baseline's slots per iteration.
    fn new(caption: String, paths: Vec<PathChange>, was: Option<f64>) -> Option<FlameGraph> {
        let first = paths.iter().filter(|path| path.caller.is_none());
        let total: f64 = first.map(|path| path.slots.sum()).sum();
        if total <= 0.0 || was.is_some_and(|was| was <= 0.0) {
            return None;
        }
        let mut graph = FlameGraph {
            caption,
            min_changes_percent: was.map(|_| MIN_CHANGE_PERCENT),
            depth: 0,
            categories: Category::ALL
                .into_iter()
                .enumerate()
                .map(|(index, category)| CategoryChoice {
                    name: category.name(),
                    style: style_of(category.into()),
                    index,
                })
                .collect(),
            boxes: Vec::new(),
        };
        // For each path: its box and level, if it has one, and where its next callee begins.
        let mut placed: Vec<Option<(usize, usize, f64)>> = Vec::with_capacity(paths.len());
        let mut next_first = 0.0;
        for path in &paths {
            let width = path.slots.sum() / total;
            let caller = path.caller.map(|caller| placed[caller]);
            if width < MIN_WIDTH || caller == Some(None) {
                placed.push(None);
                continue;
            }
            let (caller_box, level, left) = match caller.flatten() {
                Some((index, level, next)) => (index.to_string(), level + 1, next),
                None => (String::new(), 0, next_first),
            };
            match path.caller.and_then(|caller| placed[caller].as_mut()) {
                Some((_, _, next)) => *next += width,
                None => next_first += width,
            }
            placed.push(Some((graph.boxes.len(), level, left)));
            graph.depth = graph.depth.max(level + 1);
            graph.boxes.push(FlameBox {
                caller: caller_box,
                level,
                left: format!("{:.3}", 100.0 * left),
                width: format!("{:.3}", 100.0 * width),
                ..FlameBox::of(path, total, was)
            });
        }
        Some(graph)
    }
}

/// Makes one path of those with the same caller that begin and end windows, and of those that they
/// call: all are called the same. What these call is one path for each function.
///
/// Each run's paths are merged before they are compared, so that those of one run alone count.
fn windows_as_one(paths: &CallPaths) -> CallPaths {
    let mut merged = CallPaths {
        iterations: paths.iterations,
        functions: paths.functions.clone(),
        paths: Vec::with_capacity(paths.paths.len()),
    };
    // The same in both runs, whichever functions they have.
    let window = merged.functions.len() as u32;
    merged.functions.push(CalledFunction {
        name: Some("topdown_tracer::window".to_owned()),
        module: None,
    });
    let mut place_of: Vec<u32> = Vec::with_capacity(paths.paths.len());
    let mut known: HashMap<(Option<u32>, u32), u32> = HashMap::new();
    for path in &paths.paths {
        let caller = path.caller.map(|caller| place_of[caller as usize]);
        let name = paths.function_of(path).name.as_deref();
        let function = match name.map(FunctionKind::new) {
            Some(FunctionKind::Window) => window,
            _ => path.function,
        };
        let is_window = |caller: &u32| merged.paths[*caller as usize].function == window;
        if let Some(caller) = caller.filter(is_window).filter(|_| function == window) {
            merged.paths[caller as usize].counts += path.counts;
            place_of.push(caller);
            continue;
        }
        let next = merged.paths.len() as u32;
        let place = *known.entry((caller, function)).or_insert(next);
        place_of.push(place);
        match merged.paths.get_mut(place as usize) {
            None => merged.paths.push(CallPath {
                caller,
                function,
                ..path.clone()
            }),
            Some(same) => {
                same.counts += path.counts;
                if same.called_at != path.called_at {
                    same.called_at = None;
                }
            }
        }
    }
    merged
}

impl FlameBox {
    fn of(path: &PathChange, total: f64, was: Option<f64>) -> FlameBox {
        let name = label_of(&path.function.name, &path.function.module);
        let sum = path.slots.sum();
        let parts = path.slots.iter().filter(|(_, slots)| **slots > 0.0);
        let parts: Vec<String> = parts
            .map(|(category, slots)| format!("{} {} %", category.name(), percent(slots / sum)))
            .collect();
        let parts = parts.join(", ");
        let (of_all, in_slots) = (percent(sum / total), slots(sum));
        let mut title = format!("{name}: {in_slots} slots, {of_all} % of all ({parts})");
        if let Some(line) = &path.called_at {
            title += &format!("; called at {line}");
        }
        let mut style = String::new();
        let mut differences = String::new();
        if let Some(was) = was {
            let change = path.difference.sum() / was;
            title += &format!("; {} of the baseline's slots", percent_change(change));
            style = change_class(100.0 * change);
            differences = numbers(path.difference.map(|slots| 100.0 * slots / was));
        }
        let mut end = 0.0;
        let ends = path.slots.into_array().map(|slots| {
            end += 100.0 * slots / sum;
            format!("{end:.1}")
        });
        let [first, second, third, _] = ends;
        FlameBox {
            name,
            title,
            stripes: [first, second, third],
            slots: numbers(path.slots),
            differences,
            style,
            caller: String::new(),
            level: 0,
            left: String::new(),
            width: String::new(),
        }
    }
}

/// `grew-1` to `shrank-3`, or nothing.
fn change_class(percent: f64) -> String {
    let reached = MIN_CHANGE_PERCENT.iter();
    let reached = reached.filter(|least| percent.abs() >= **least);
    match (reached.count(), percent > 0.0) {
        (0, _) => String::new(),
        (strength, true) => format!("grew-{strength}"),
        (strength, false) => format!("shrank-{strength}"),
    }
}

fn numbers(values: PerCategory<f64>) -> String {
    let values = values.into_array().map(|value| format!("{value:.2}"));
    values.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::with_call_paths;
    use topdown_run::code::CodeCounts;
    use topdown_run::run_file::SourceLine;

    #[test]
    fn boxes_lie_side_by_side_below_callers() {
        let graph = FlameGraph::for_run(&with_call_paths("parse", 0)).unwrap();
        let places: Vec<(&str, &str, usize, &str, &str)> = graph
            .boxes
            .iter()
            .map(|b| (&*b.name, &*b.caller, b.level, &*b.left, &*b.width))
            .collect();
        let closure = "the benchmark's closure (inlined)";
        let expected = [
            (closure, "", 0, "0.000", "100.000"),
            ("suite::parse::scan", "0", 1, "0.000", "70.000"),
            ("memcpy (libc.so.6)", "1", 2, "0.000", "30.000"),
            ("suite::parse::number", "0", 1, "70.000", "23.000"),
        ];
        assert_eq!(places, expected);
        assert_eq!(graph.depth, 3);
        assert_eq!(
            graph.boxes[2].title,
            "memcpy (libc.so.6): 300.0 slots, 30.0 % of all (retiring 33.3 %, frontend bound \
             16.7 %, backend bound 50.0 %); called at src/parse.rs:40"
        );
        assert_eq!(graph.boxes[2].stripes, ["33.3", "33.3", "50.0"]);
    }

    #[test]
    fn grown_functions_and_callers_are_coloured() {
        let benchmarks = [0, 200].map(|more| with_call_paths("parse", more));
        let [before, after] = benchmarks.each_ref().map(Some);
        let styles = |runs| -> Vec<String> {
            let graph = FlameGraph::for_difference(runs).unwrap();
            graph.boxes.into_iter().map(|b| b.style).collect()
        };
        assert_eq!(styles([before, after]), ["grew-3", "grew-3", "grew-3", ""]);
        let shrank = "shrank-3";
        assert_eq!(styles([after, before]), [shrank, shrank, shrank, ""]);
        let graph = FlameGraph::for_difference([before, after]).unwrap();
        let title = &graph.boxes[2].title;
        assert!(
            title.ends_with("; +20.0 % of the baseline's slots"),
            "{title}"
        );
        assert_eq!(graph.boxes[2].differences, "0.00 0.00 0.00 20.00");
        assert!(FlameGraph::for_difference([before, None]).is_none());
    }

    #[test]
    fn window_functions_are_one_box() {
        let mut benchmark = with_call_paths("parse", 0);
        let paths = benchmark.call_paths.as_mut().unwrap();
        let names = [
            "topdown_tracer::attach",
            "topdown_tracer::detach",
            "clock_gettime",
        ];
        let first = paths.functions.len() as u32;
        paths.functions.extend(names.map(|name| CalledFunction {
            name: Some(name.to_owned()),
            module: None,
        }));
        let path = |caller, function: u32, line: u32, slots: u64| CallPath {
            caller,
            function: first + function,
            called_at: Some(SourceLine {
                file: "src/tracer.rs".to_owned(),
                line,
                in_workspace: false,
            }),
            counts: CodeCounts {
                level1_slots: PerCategory::in_order([slots, 0, 0, 0]),
                ..CodeCounts::default()
            },
        };
        // Two side by side, of which one calls the other, which calls something else.
        let place = paths.paths.len() as u32;
        paths.paths.extend([
            path(Some(0), 0, 1, 1000),
            path(Some(0), 1, 2, 500),
            path(Some(place), 1, 3, 300),
            path(Some(place + 2), 2, 4, 200),
        ]);
        let graph = FlameGraph::for_run(&benchmark).unwrap();
        let windows: Vec<&FlameBox> = graph
            .boxes
            .iter()
            .filter(|b| b.name == "cost of the window")
            .collect();
        let [window] = windows[..] else {
            panic!("{} boxes", windows.len())
        };
        assert!(window.title.contains("200.0 slots"), "{}", window.title);
        assert!(!window.title.contains("called at"), "{}", window.title);
        let called = graph.boxes.last().unwrap();
        assert_eq!((&*called.name, called.level), ("clock_gettime", 2));
        assert_eq!(
            graph.boxes[called.caller.parse::<usize>().unwrap()].level,
            1
        );
    }

    #[test]
    fn windows_of_baseline_alone_are_in_the_difference() {
        let with_windows = |names: &[&str]| {
            let mut benchmark = with_call_paths("parse", 0);
            let paths = benchmark.call_paths.as_mut().unwrap();
            for name in names {
                let function = paths.functions.len() as u32;
                paths.functions.push(CalledFunction {
                    name: Some((*name).to_owned()),
                    module: None,
                });
                paths.paths.push(CallPath {
                    caller: Some(0),
                    function,
                    called_at: None,
                    counts: CodeCounts {
                        level1_slots: PerCategory::in_order([500, 0, 0, 0]),
                        ..CodeCounts::default()
                    },
                });
            }
            benchmark
        };
        let before = with_windows(&["topdown_tracer::attach", "topdown_tracer::detach"]);
        let after = with_windows(&["topdown_tracer::attach"]);
        let graph = FlameGraph::for_difference([Some(&before), Some(&after)]).unwrap();
        let window = graph.boxes.last().unwrap();
        assert_eq!(window.name, "cost of the window");
        // 50 of the baseline's 1100 slots.
        assert_eq!(window.differences, "-4.55 0.00 0.00 0.00");
    }

    #[test]
    fn narrow_functions_and_callees_have_no_box() {
        let mut benchmark = with_call_paths("parse", 0);
        for path in 1..=2 {
            benchmark.call_paths.as_mut().unwrap().paths[path].counts = CodeCounts::default();
        }
        assert_eq!(FlameGraph::for_run(&benchmark).unwrap().boxes.len(), 2);
        for path in &mut benchmark.call_paths.as_mut().unwrap().paths {
            path.counts = CodeCounts::default();
        }
        assert!(FlameGraph::for_run(&benchmark).is_none());
    }

    #[test]
    fn mouse_keys_and_controls_change_the_layout() {
        let run = topdown_gate::scenario::run(vec![with_call_paths("parse", 200)]);
        let mut page = Vec::new();
        super::super::write_run(&run, "a run", None, None, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        let found = super::super::browser::drive(
            &page,
            1100,
            r#"
            const figure = document.querySelector(".flame");
            const boxes = [...figure.querySelectorAll("li")];
            const form = figure.querySelector("form");
            const width = (box) => box.hidden ? "" : parseFloat(box.style.width).toFixed(1);
            const widths = () => boxes.map(width);
            const press = (key) => document.activeElement.dispatchEvent(
              new KeyboardEvent("keydown", { key, bubbles: true }));
            const all = widths();
            boxes[1].click();
            const zoomed = widths();
            press("ArrowDown");
            const callee = boxes.indexOf(document.activeElement);
            press("ArrowUp");
            press("ArrowRight");
            const active = document.activeElement;
            const neighbour = active.hidden ? -1 : boxes.indexOf(active);
            press("Escape");
            const back = widths();
            form.elements.category.value = "2";
            form.dispatchEvent(new Event("input"));
            const frontend = widths();
            form.elements.category.value = "all";
            form.elements.find.value = "memcpy";
            form.dispatchEvent(new Event("input"));
            const output = form.querySelector("output").textContent;
            const overflow = document.documentElement.scrollWidth > innerWidth;
            // A narrow box is no wider than its slots.
            boxes[3].style.width = "0.3%";
            const drawn = (box) => box.getBoundingClientRect().width;
            const narrow = (100 * drawn(boxes[3]) / drawn(boxes[3].parentNode)).toFixed(1);
            return { all, zoomed, callee, neighbour, back, frontend, output, overflow, narrow,
              shown: !form.hidden };
            "#,
        );
        let Some(found) = found else { return };
        let expected = serde_json::json!({
            "all": ["100.0", "75.0", "41.7", "19.2"],
            "zoomed": ["100.0", "100.0", "55.6", ""],
            "callee": 2,
            "neighbour": 1,
            "back": ["100.0", "75.0", "41.7", "19.2"],
            "frontend": ["100.0", "78.0", "35.5", "14.2"],
            "output": "found: 41.7 % of the slots",
            "overflow": false,
            "narrow": "0.3",
            "shown": true,
            "errors": [],
        });
        assert_eq!(found, expected);
    }
}
