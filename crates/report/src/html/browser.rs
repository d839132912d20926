//! Pages in headless Chromium, for tests, if it is installed.

use std::time::Duration;
use topdown_skipped::{Need, skip};

use assert_cmd::Command;

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Loads `page` in a frame that is `width` pixels wide, runs `script`, the body of a JavaScript
/// function, and returns the resulting object with `errors` added. Without Chromium, says so on
/// standard error and returns `None`.
pub fn drive(page: &str, width: u32, script: &str) -> Option<serde_json::Value> {
    let Some(program) = NAMES.into_iter().find(|name| {
        std::process::Command::new(name)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    }) else {
        skip(
            Need::Browser,
            format!("none of {} is installed", NAMES.join(", ")),
        );
        return None;
    };
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    // A dialogue would wait forever; the page opens none.
    let head = "<script>window.errors = []; \
                onerror = (message) => { errors.push(String(message)); }; \
                alert = () => { errors.push('alert'); };</script></head>";
    let script = serde_json::to_string(script).unwrap();
    // The page's policy forbids eval but allows a script element.
    let driver = format!(
        "<script>addEventListener('load', () => {{ \
           const script = document.createElement('script'); \
           script.textContent = 'window.found = (() => {{' + \
             {script} + '}})()'; \
           document.body.append(script); \
           parent.postMessage({{ errors, ...window.found }}, '*'); \
         }});</script></body>"
    );
    let page = page
        .replacen("</head>", head, 1)
        .replacen("</body>", &driver, 1);
    write("page.html", &page);
    // The minimum width of Chromium's own window is wider than a phone.
    write(
        "frame.html",
        &format!(
            "<body><iframe src='page.html' style='width:{width}px;height:800px;border:0'></iframe>\
             <pre id='found'></pre><script>addEventListener('message', (event) => {{ \
             document.getElementById('found').textContent = JSON.stringify(event.data); }});\
             </script></body>"
        ),
    );
    let output = Command::new(program)
        .args([
            "--headless",
            // Tests run in containers and as root, where the sandbox does not work. The page is
            // ours.
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1800,1000",
            // Timers run ahead; the dump waits until none is left.
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            directory.path().join("profile").display()
        ))
        .arg(directory.path().join("frame.html"))
        .timeout(Duration::from_secs(120))
        .output()
        .unwrap();
    let document = String::from_utf8_lossy(&output.stdout);
    let found = document
        .split_once("<pre id=\"found\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("{document}\n{}", String::from_utf8_lossy(&output.stderr)))
        .0
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&nbsp;", "\u{a0}")
        .replace("&amp;", "&");
    Some(serde_json::from_str(&found).unwrap_or_else(|error| panic!("{error}: {found:?}")))
}
