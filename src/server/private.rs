//! A server for one process, in memory: it ends, and its directory goes, when that process ends in whatever way.
//!
//! A shell watches: it reads from a pipe whose other end this process holds, so it wakes when this process is gone, stops
//! the server and removes the directory. What a power failure or a kill of both leaves behind, the next start removes.

use super::{Account, ServerError, file, private_dir};
use rustix::fs::statvfs;
use rustix::process::{Pid, Signal, getuid, kill_process};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The start of the names of directories.
const PREFIX: &str = "caqtus-server-";

/// Memory that a server's directory needs, at least.
const BYTES_MIN: u64 = 400 << 20;

/// How long a server may take until it answers.
pub const START_MAX: Duration = Duration::from_secs(20);

/// Counts the forms of what is made before a server starts, so that no copy of an older form is used.
const DATA_FORM: u32 = 2;

/// Servers that this program has started.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory in memory for one server. Removed on drop, after the server in it.
#[derive(Debug)]
pub struct Room {
    /// The directory.
    pub dir: PathBuf,
    /// Who uses it.
    pub account: Option<Account>,
    /// Its end wakes the watching shell.
    watcher: Child,
    /// Locked as long as it is in use.
    _lock: File,
}

/// What the watching shell runs, with the directory as its argument. The server's number may not be written down yet, so
/// whatever runs on its data goes, and what is still written meanwhile is removed again.
const WATCH: &str = r#"
read -r _
pid=$(cat "$1/pid" 2>/dev/null)
if [ -n "$pid" ] && grep -qaF -- "$1/data" "/proc/$pid/cmdline" 2>/dev/null; then
  kill -QUIT $pid 2>/dev/null
  i=0; while kill -0 $pid 2>/dev/null && [ $i -lt 10 ]; do i=$((i+1)); sleep 0.05; done
fi
i=0
while [ -e "$1" ] && [ $i -lt 50 ]; do
  for line in $(grep -laF -- "$1/data" /proc/[0-9]*/cmdline 2>/dev/null); do
    other=${line#/proc/}; kill -KILL ${other%/cmdline} 2>/dev/null
  done
  rm -rf "$1"
  i=$((i+1)); [ -e "$1" ] && sleep 0.1
done
"#;

/// Where in a room a server's data are.
const DATA: &str = "data";

impl Room {
    /// Makes a directory, in memory if there is enough of it, and removes those that nobody uses any more.
    pub fn open(data_dir: &Path, account: Option<Account>) -> Result<Self, ServerError> {
        let memory = Path::new("/dev/shm");
        let free = |dir: &Path| statvfs(dir).map_or(0, |stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        let parent = if free(memory) >= BYTES_MIN { memory.to_path_buf() } else { super::place(data_dir, "servers")? };
        fs::create_dir_all(&parent).map_err(file(&parent))?;
        remove_stale(&parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
        private_dir(&dir, account)?;
        let path = dir.join("lock");
        let lock = File::create(&path).map_err(file(&path))?;
        lock.lock().map_err(file(&path))?;
        let mut watcher = Command::new("/bin/sh");
        // Ctrl-C is for this program alone.
        watcher.args(["-c", WATCH, "sh"]).arg(&dir).process_group(0);
        let watcher = watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let failed =
            |error: std::io::Error| ServerError::Program { program: "/bin/sh".to_owned(), message: error.to_string() };
        Ok(Self { dir, account, watcher: watcher.map_err(failed)?, _lock: lock })
    }
}

impl Room {
    /// The server's data: a copy of what was made by the same program before, or made anew. `program` is what makes it.
    pub fn data(
        &self,
        data_dir: &Path,
        program: &Path,
        make: impl FnOnce(&Path) -> Result<(), ServerError>,
    ) -> Result<PathBuf, ServerError> {
        let data = self.dir.join(DATA);
        let _ = fs::remove_dir_all(&data);
        // Another build of the program may want other data.
        let modified = fs::metadata(program).map(|m| (m.len(), m.mtime())).unwrap_or_default();
        let name = super::name_of(&program.join(format!("{modified:?} {DATA_FORM}")));
        let template = template_dir(data_dir).join(name);
        let mut copy = super::command(Path::new("cp"), self.account);
        if template.exists() && super::succeed(copy.arg("-a").arg(&template).arg(&data)).is_ok() {
            return Ok(data);
        }
        let _ = fs::remove_dir_all(&data);
        make(&data)?;
        // For the next start. One that cannot leave a copy is slower and nothing else.
        let fresh = template.with_extension(std::process::id().to_string());
        let made = fs::create_dir_all(template_dir(data_dir)).is_ok()
            && super::succeed(Command::new("cp").arg("-a").arg(&data).arg(&fresh)).is_ok()
            && fs::rename(&fresh, &template).is_ok();
        if !made {
            let _ = fs::remove_dir_all(&fresh);
        }
        Ok(data)
    }
}

/// Where copies of fresh data are: in the data directory, or where the accounts that root's servers run as can read them.
fn template_dir(data_dir: &Path) -> PathBuf {
    if getuid().is_root() { PathBuf::from("/var/lib/caqtus/templates") } else { data_dir.join("templates") }
}

impl Drop for Room {
    fn drop(&mut self) {
        // The shell reads the end of its input, and removes the directory.
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
    }
}

/// Removes directories whose program is gone, with the server that may still run there.
fn remove_stale(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let dir = entry.path();
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let program = entry.file_name().to_string_lossy()[PREFIX.len()..].split('-').next().map(str::to_owned);
        let unused = match File::open(dir.join("lock")) {
            Ok(lock) => lock.try_lock().is_ok(),
            // It is being made, or belongs to somebody else, or is what is left of one that was removed.
            Err(error) => {
                error.kind() == std::io::ErrorKind::NotFound
                    && program.is_some_and(|pid| !Path::new("/proc").join(pid).exists())
            }
        };
        if unused {
            if let Ok(pid) = fs::read_to_string(dir.join("pid")) {
                stop(pid.trim(), &dir);
            }
            let _ = fs::remove_dir_all(&dir);
        }
    }
}

/// Kills a process that runs in the directory; another that has its number by now does not name it.
fn stop(pid: &str, dir: &Path) {
    let line = fs::read(Path::new("/proc").join(pid).join("cmdline")).unwrap_or_default();
    if String::from_utf8_lossy(&line).contains(&*dir.to_string_lossy()) {
        let _ = Command::new("kill").args(["-KILL", pid]).stderr(Stdio::null()).status();
    }
}

/// How a server that runs no more ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// In words.
    pub how: String,
    /// Whether by a signal that a process raises itself.
    pub crashed: bool,
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: PathBuf,
    /// How much of the log was read.
    read: u64,
}

impl Server {
    /// Starts a server in a room.
    pub fn start(mut command: Command, room: &Room) -> Result<Self, ServerError> {
        let path = room.dir.join("log");
        let log = File::options().create(true).append(true).open(&path).map_err(file(&path))?;
        let copy = log.try_clone().map_err(file(&path))?;
        let read = log.metadata().map_or(0, |m| m.len());
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |error: std::io::Error| ServerError::Program { program, message: error.to_string() };
        let child = command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(copy).spawn().map_err(failed)?;
        let pid = room.dir.join("pid");
        fs::write(&pid, child.id().to_string()).map_err(file(&pid))?;
        Ok(Self { child, log: path, read })
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Option<Ended> {
        let status = self.child.try_wait().ok().flatten()?;
        let crashed = status.signal().is_some_and(|signal| CRASH_SIGNALS.contains(&signal));
        Some(Ended { how: status.to_string(), crashed })
    }

    /// What it wrote to its log since this was asked last.
    pub fn news(&mut self) -> String {
        let mut text = Vec::new();
        if let Ok(mut log) = File::open(&self.log)
            && log.seek(SeekFrom::Start(self.read)).is_ok()
            && log.read_to_end(&mut text).is_ok()
        {
            self.read += text.len() as u64;
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The number of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// CPU time of it and its children so far, those that ended included.
    pub fn cpu_time(&self) -> Duration {
        cpu_of_tree(self.pid())
    }

    /// Ends it at once: nothing in it is worth keeping.
    fn end(&mut self) {
        if let Some(pid) = Pid::from_raw(i32::try_from(self.child.id()).unwrap_or_default()) {
            let _ = kill_process(pid, Signal::QUIT);
        }
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(None)) {
                std::thread::sleep(Duration::from_millis(25));
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What makes a server's data in a room.
type Make = Box<dyn Fn(&Room) -> Result<PathBuf, ServerError>>;

/// What starts a server on such data.
type Start = Box<dyn Fn(&Path, &Room) -> Result<Server, ServerError>>;

/// A server that is started again when it is gone. It ends before its room goes.
pub struct Revivable {
    server: Server,
    room: Room,
    make: Make,
    start: Start,
}

impl Revivable {
    /// Makes its data and starts a server.
    pub fn new(
        room: Room,
        make: impl Fn(&Room) -> Result<PathBuf, ServerError> + 'static,
        start: impl Fn(&Path, &Room) -> Result<Server, ServerError> + 'static,
    ) -> Result<Self, ServerError> {
        let server = start(&make(&room)?, &room)?;
        Ok(Self { server, room, make: Box::new(make), start: Box::new(start) })
    }

    /// The directory it is in.
    pub fn dir(&self) -> &Path {
        &self.room.dir
    }

    /// Why a connection ended: how the server ended, or a line of its log that says that a part of it crashed. `None` if
    /// there is no sign within a moment: it is written down a little after the connection ends.
    pub fn verdict(&mut self, is_crash: fn(&str) -> bool) -> Option<Ended> {
        let mut news = String::new();
        for _ in 0..VERDICT_LOOKS {
            news.push_str(&self.server.news());
            if let Some(line) = news.lines().find(|line| is_crash(line)) {
                return Some(Ended { how: line.trim().to_owned(), crashed: true });
            }
            if let Some(ended) = self.server.ended() {
                return Some(ended);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Starts it again if it ended, on new data if it does not recover: nothing in the old is needed.
    pub fn revive(&mut self) -> Result<(), ServerError> {
        if self.server.ended().is_some() {
            let data = self.room.dir.join(DATA);
            let started = (self.start)(&data, &self.room);
            self.server = started.or_else(|_| (self.start)(&(self.make)(&self.room)?, &self.room))?;
        }
        Ok(())
    }

    /// Ends it, so that it is started again the next time it is needed.
    pub fn end(&mut self) {
        self.server.end();
    }

    /// CPU time of it and its children so far.
    pub fn cpu_time(&self) -> Duration {
        self.server.cpu_time()
    }
}

/// Looks for the reason of a lost connection, ten milliseconds apart.
const VERDICT_LOOKS: u32 = 60;

/// Signals by which a process ends itself: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS. Any other comes from
/// outside and says nothing about the engine.
pub const CRASH_SIGNALS: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];

/// CPU time of a process and its children, from the kernel's accounts (proc(5)).
pub fn cpu_of_tree(root: u32) -> Duration {
    // Ticks a second, the same on every Linux that user space sees.
    const TICKS: u64 = 100;
    let mut sum = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name is in parentheses and may contain any of what follows.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<u64> = rest.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
        let own = pid == root;
        if own || fields.get(1) == Some(&u64::from(root)) {
            // utime and stime, and for the server itself those of children that ended.
            sum += fields[11] + fields[12] + if own { fields[13] + fields[14] } else { 0 };
        }
    }
    Duration::from_millis(sum * 1000 / TICKS)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[test]
    fn a_server_ends_with_its_room() {
        let data = tempfile::tempdir().expect("a directory");
        let room = Room::open(data.path(), None).expect("a room");
        let mut command = Command::new("sleep");
        command.arg("1000");
        let server = Server::start(command, &room).expect("starts");
        let (pid, dir) = (server.pid(), room.dir.clone());
        assert!(alive(pid) && dir.join("log").exists());
        drop(server);
        assert!(!alive(pid));
        drop(room);
        assert!(!dir.exists());
    }

    #[test]
    fn a_server_ends_with_its_room_also_if_its_number_is_not_written_yet() {
        let data = tempfile::tempdir().expect("a directory");
        let room = Room::open(data.path(), None).expect("a room");
        let (dir, data) = (room.dir.clone(), room.dir.join("data"));
        fs::write(&data, "").expect("writes");
        let mut server = Command::new("tail").arg("-f").arg(&data).spawn().expect("starts");
        while !fs::read(format!("/proc/{}/cmdline", server.id())).is_ok_and(|line| line.starts_with(b"tail")) {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(room);
        assert!(server.wait().expect("ends").signal().is_some());
        assert!(!dir.exists());
    }

    #[test]
    fn how_a_server_ended_is_known() {
        let data = tempfile::tempdir().expect("a directory");
        let room = Room::open(data.path(), None).expect("a room");
        let ended = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            let mut server = Server::start(command, &room).expect("starts");
            for _ in 0..200 {
                if let Some(ended) = server.ended() {
                    return (ended.crashed, server.news());
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!("`{script}` did not end");
        };
        assert_eq!(ended("echo word; kill -SEGV $$"), (true, "word\n".to_owned()));
        assert_eq!(ended("kill -KILL $$"), (false, String::new()));
        assert_eq!(ended("exit 3"), (false, String::new()));
    }

    #[test]
    fn a_server_that_does_not_recover_gets_new_data() {
        let data_dir = tempfile::tempdir().expect("a directory");
        let room = Room::open(data_dir.path(), None).expect("a room");
        let make = |room: &Room| {
            let data = room.dir.join(DATA);
            fs::write(&data, "good").map_err(file(&data))?;
            Ok(data)
        };
        let start = |data: &Path, room: &Room| match fs::read_to_string(data).as_deref() {
            Ok("good") => {
                let mut command = Command::new("sleep");
                command.arg("1000");
                Server::start(command, room)
            }
            _ => Err(ServerError::Program { program: "sleep".to_owned(), message: "broken data".to_owned() }),
        };
        let mut server = Revivable::new(room, make, start).expect("starts");
        let first = server.server.pid();
        let data = server.dir().join(DATA);
        fs::write(&data, "broken").expect("writes");
        server.revive().expect("runs");
        assert_eq!((server.server.pid(), fs::read_to_string(&data).expect("reads")), (first, "broken".to_owned()));
        server.end();
        server.revive().expect("starts");
        assert_eq!(fs::read_to_string(&data).expect("reads"), "good");
    }

    #[test]
    fn what_a_killed_program_left_behind_is_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let (stale, used) = (parent.path().join("caqtus-server-1-0"), parent.path().join("caqtus-server-2-0"));
        for dir in [&stale, &used] {
            fs::create_dir(dir).expect("makes");
            File::create(dir.join("lock")).expect("makes");
        }
        let lock = File::open(used.join("lock")).expect("opens");
        lock.lock().expect("locks");
        // A process that runs in the directory, as its command line says.
        let mut left = Command::new("tail").arg("-f").arg(stale.join("lock")).spawn().expect("starts");
        fs::write(stale.join("pid"), left.id().to_string()).expect("writes");
        let started = || fs::read(format!("/proc/{}/cmdline", left.id())).is_ok_and(|line| line.starts_with(b"tail"));
        while !started() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Without a lock: one is what is left of a removed one, the other is being made.
        let rest = parent.path().join("caqtus-server-4999999-0");
        let fresh = parent.path().join(format!("caqtus-server-{}-0", std::process::id()));
        for dir in [&rest, &fresh] {
            fs::create_dir(dir).expect("makes");
        }
        remove_stale(parent.path());
        assert!(!stale.exists() && used.exists());
        assert!(!rest.exists() && fresh.exists());
        assert!(left.wait().expect("ends").signal().is_some());
    }
}
