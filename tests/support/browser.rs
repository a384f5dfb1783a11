//! A headless Chromium, spoken with through its debugging pipe (the Chrome `DevTools` protocol): no port, no driver.

use super::engines::{leave_out, skip};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caqtus::clock;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

/// The accessibility checker.
const AXE: &str = "axe-core@4.14.1";

/// The longest that the browser may take to answer.
const ANSWER: Duration = Duration::from_mins(1);

/// The longest that a page may take to become what is expected.
const PATIENCE: Duration = Duration::from_secs(90);

/// A browser with one page. It ends with this.
pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    origin: String,
    /// What the browser complained of: refused by the policy, not found, an error of a script.
    pub(crate) complaints: Vec<String>,
    profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a browser for a service; without one on this machine the test is skipped, and counted.
pub(crate) fn open(address: SocketAddr) -> Option<Browser> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let has = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let Some(name) = names.iter().find(has) else {
        skip("Chromium is not installed; install it (Debian: apt-get install chromium)");
        return None;
    };
    Some(Browser::start(name, address))
}

impl Browser {
    fn start(program: &str, address: SocketAddr) -> Self {
        let profile = tempfile::tempdir().expect("a directory");
        // The pipe's ends are the third and the fourth file, which a shell can give to its successor.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null", program]);
        command.args(["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage"]);
        command.args([
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--hide-scrollbars",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        if rustix::process::geteuid().is_root() {
            // Its sandbox does not work for root; what is opened here is ours.
            command.arg("--no-sandbox");
        }
        command.arg("about:blank").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a shell");
        let to = child.stdin.take().expect("a pipe");
        let said = child.stdout.take().expect("a pipe");
        let (send, from) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(said);
            let mut bytes = Vec::new();
            while reader.read_until(0, &mut bytes).is_ok_and(|read| read > 0) {
                let message = serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes));
                if message.is_ok_and(|message| send.send(message).is_err()) {
                    break;
                }
                bytes.clear();
            }
        });
        let origin = format!("http://localhost:{}", address.port());
        let complaints = Vec::new();
        let mut browser = Self { child, to, from, next: 0, session: None, origin, complaints, profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attached =
            browser.call("Target.attachToTarget", &json!({ "targetId": target["targetId"], "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        let downloads = browser.downloads();
        browser.call("Browser.setDownloadBehavior", &json!({ "behavior": "allow", "downloadPath": downloads }));
        browser
    }

    /// Where downloads go.
    pub(crate) fn downloads(&self) -> PathBuf {
        self.profile.path().join("downloads")
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = self.session.as_ref().filter(|_| !method.starts_with("Browser.")) {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser lives");
        self.next
    }

    /// Asks the browser for something that must work.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap_or_else(|error| panic!("{method} {params}: {error}"))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.send(method, params);
        let deadline = clock::now() + ANSWER;
        loop {
            let left = deadline.saturating_duration_since(clock::now());
            let mut message =
                self.from.recv_timeout(left).unwrap_or_else(|error| panic!("no answer to {method}: {error}"));
            if message["id"] == id {
                let error = message["error"].take();
                return if error.is_null() { Ok(message["result"].take()) } else { Err(error) };
            }
            self.hear(&message);
        }
    }

    fn hear(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.complaints.push(format!("{} {}", params["entry"]["text"], params["entry"]["url"]));
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(params["exceptionDetails"].to_string()),
            _ => {}
        }
    }

    /// The value of an expression in the page; an error while the page is changing.
    pub(crate) fn try_eval(&mut self, expression: &str) -> Result<Value, Value> {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.ask("Runtime.evaluate", &params)?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(thrown.clone()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        self.try_eval(expression).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Waits until an expression is true.
    pub(crate) fn wait(&mut self, expression: &str) {
        let begin = clock::now();
        while self.try_eval(&format!("Boolean({expression})")) != Ok(Value::Bool(true)) {
            if begin.elapsed() > PATIENCE {
                let page = self.try_eval("location.href + '\\n' + document.body.innerText");
                panic!("waited in vain for {expression} on {}", page.unwrap_or_default().as_str().unwrap_or_default());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens a page of the service.
    pub(crate) fn go(&mut self, path: &str) {
        // So that the page before is not taken for this one.
        let _ = self.try_eval("window.before = true");
        let url = format!("{}{path}", self.origin);
        self.call("Page.navigate", &json!({ "url": url }));
        self.wait("document.readyState === 'complete' && !window.before");
    }

    /// Does something that leads to another page, and waits for that.
    pub(crate) fn follow(&mut self, act: impl FnOnce(&mut Self)) {
        self.eval("window.before = true");
        act(self);
        self.wait("document.readyState === 'complete' && !window.before");
    }

    /// Clicks on the first element that a selector names and that has this text in it.
    pub(crate) fn click(&mut self, selector: &str, text: &str) {
        let found = self.eval(&format!(
            "(() => {{ const all = [...document.querySelectorAll({selector:?})].filter(e => e.textContent.includes({text:?}));
                if (all.length) all[0].click(); return all.length; }})()"
        ));
        assert_ne!(found, 0, "there is a {selector} with {text}: {}", self.text("body"));
    }

    /// Writes into a field.
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.eval(&format!("document.querySelector({selector:?}).focus()"));
        self.eval(&format!("document.querySelector({selector:?}).value = ''"));
        self.write(text);
    }

    /// Writes into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    /// Presses a key.
    pub(crate) fn press(&mut self, key: &str, control: bool) {
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 && !control => one,
            _ => "",
        };
        let code = if key == "Enter" { 13 } else { key.to_uppercase().bytes().next().map_or(0, u32::from) };
        let mut params = json!({ "type": "keyDown", "key": key, "modifiers": if control { 2 } else { 0 },
            "windowsVirtualKeyCode": code });
        if !text.is_empty() {
            params["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &params);
        params["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", &params);
    }

    /// The text of the first element that a selector names.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({selector:?})?.innerText ?? ''"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Whether pages may run scripts.
    pub(crate) fn scripts(&mut self, run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({ "value": !run }));
    }

    /// The size of the window, and what the system prefers.
    pub(crate) fn look(&mut self, width: u32, dark: bool) {
        let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", &media);
    }

    /// A picture of the whole page, as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let picture = self.call("Page.captureScreenshot", &json!({ "format": "png", "captureBeyondViewport": true }));
        STANDARD.decode(picture["data"].as_str().expect("a picture")).expect("base 64")
    }
}

/// The accessibility checker axe-core, from npm, fetched once; none if that is not possible.
pub(crate) fn axe() -> Option<String> {
    static SCRIPT: OnceLock<Result<String, String>> = OnceLock::new();
    let script = SCRIPT.get_or_init(|| {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("axe");
        let path = dir.join("package/axe.min.js");
        if !path.exists() {
            std::fs::create_dir_all(&dir).expect("a directory");
            let run = |program: &str, words: &[&str]| {
                let output = Command::new(program).args(words).current_dir(&dir).output().map_err(|e| e.to_string())?;
                let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                if output.status.success() { Ok(()) } else { Err(said) }
            };
            run("npm", &["pack", "--silent", AXE])?;
            run("tar", &["xzf", &format!("{}.tgz", AXE.replace('@', "-"))])?;
        }
        std::fs::read_to_string(&path).map_err(|error| error.to_string())
    });
    script.as_ref().inspect_err(|why| leave_out(&format!("{AXE}, which cannot be fetched: {why}"))).ok().cloned()
}

impl Browser {
    /// What the accessibility checker holds to be serious or critical on this page.
    pub(crate) fn faults(&mut self, axe: &str) -> Vec<String> {
        self.eval(&format!("{axe}; 1"));
        let found = self.eval(
            "axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations
                .filter(v => ['serious', 'critical'].includes(v.impact))
                .map(v => v.id + ': ' + v.help + ' ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary).join(' | ')))",
        );
        found.as_array().expect("a list").iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
    }
}
