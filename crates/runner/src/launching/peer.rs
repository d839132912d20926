//! Checks whether the bench has connected, and not another process of this machine.
//!
//! criterion connects to a port of localhost, as any local process can. On Linux, `/proc/net/tcp`
//! shows which socket is the other end, and `/proc/PID/fd` who holds it.

use std::net::TcpStream;

/// Who holds the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// The given process, or a descendant.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "the system does not say")
    )]
    Child,
    /// Another process.
    Stranger,
    /// The system does not say.
    Unknown,
}

/// Returns who holds the other end of each of `streams`: `child` and its descendants, or others.
///
/// The tables of the system are read once for all of them, since another user can connect thousands
/// of times.
pub fn of_all(streams: &[TcpStream], child: u32) -> Vec<Peer> {
    #[cfg(target_os = "linux")]
    return linux::peers_of(streams, child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = child;
        vec![Peer::Unknown; streams.len()]
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::fs;
    use std::io;
    use std::net::{IpAddr, SocketAddr, TcpStream};
    use std::os::unix::fs::MetadataExt;

    use super::Peer;
    use topdown_system::processes::{below, threads_of};

    pub fn peers_of(streams: &[TcpStream], child: u32) -> Vec<Peer> {
        let Some(sockets) = Sockets::read() else {
            return vec![Peer::Unknown; streams.len()];
        };
        let held = HeldSockets::by_tree(child);
        let peer = |stream: &TcpStream| {
            let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else {
                // It has hung up.
                return Peer::Stranger;
            };
            match sockets.of(there, here) {
                Some(socket) if held.has(socket) => Peer::Child,
                _ => Peer::Stranger,
            }
        };
        streams.iter().map(peer).collect()
    }

    const ROOT: u32 = 0;

    /// One end of a connection.
    struct Socket {
        user: u32,
        /// 0 if no process holds it.
        inode: u64,
    }

    /// An address as the kernel writes it.
    type Address = String;

    /// The sockets of `/proc/net/tcp` and `tcp6`, by their own and the other end's address.
    struct Sockets(HashMap<(Address, Address), Socket>);

    impl Sockets {
        /// Reads both tables; `None` if there are none.
        fn read() -> Option<Sockets> {
            let files = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
            let tables = files.into_iter().flat_map(fs::read_to_string);
            let tables: Vec<String> = tables.collect();
            let lines = tables.iter().flat_map(|table| table.lines().skip(1));
            let sockets = lines.filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let socket = Socket {
                    user: words.get(7)?.parse().ok()?,
                    inode: words.get(9)?.parse().ok()?,
                };
                Some((
                    ((*words.get(1)?).to_owned(), (*words.get(2)?).to_owned()),
                    socket,
                ))
            });
            (!tables.is_empty()).then(|| Sockets(sockets.collect()))
        }

        /// Returns the socket of the connection from `from` to `to`.
        fn of(&self, from: SocketAddr, to: SocketAddr) -> Option<&Socket> {
            let ends = written(from)?.into_iter().zip(written(to)?);
            ends.into_iter().find_map(|ends| self.0.get(&ends))
        }
    }

    /// Returns an address as the kernel writes it, for IPv4 and mapped into IPv6.
    fn written(address: SocketAddr) -> Option<[Address; 2]> {
        let IpAddr::V4(ip) = address.ip().to_canonical() else {
            return None;
        };
        let number = u32::from_ne_bytes(ip.octets());
        let port = address.port();
        let mapped = u32::from_ne_bytes([0, 0, 0xff, 0xff]);
        Some([
            format!("{number:08X}:{port:04X}"),
            format!("0000000000000000{mapped:08X}{number:08X}:{port:04X}"),
        ])
    }

    /// The sockets that some processes hold.
    struct HeldSockets {
        inodes: HashSet<u64>,
        /// The user of sockets that count too: the open files of a bench with its own capabilities
        /// are hidden, but a socket's owner is not.
        user: Option<u32>,
    }

    impl HeldSockets {
        /// Those of `child` and its descendants.
        fn by_tree(child: u32) -> HeldSockets {
            let mut inodes = HashSet::new();
            let mut is_hidden = false;
            for process in [child].into_iter().chain(below(child)) {
                if let Err(error) = add_sockets(process, &mut inodes) {
                    is_hidden |= error.kind() == io::ErrorKind::PermissionDenied;
                }
            }
            let own_user = || fs::metadata("/proc/self").map(|metadata| metadata.uid());
            HeldSockets {
                inodes,
                user: is_hidden.then(own_user).and_then(Result::ok),
            }
        }

        fn has(&self, socket: &Socket) -> bool {
            // A bench that was started through `sudo` is root, who needs no socket to interfere.
            let is_trusted = |user| user == socket.user || socket.user == ROOT;
            self.inodes.contains(&socket.inode) || self.user.is_some_and(is_trusted)
        }
    }

    fn add_sockets(process: u32, inodes: &mut HashSet<u64>) -> io::Result<()> {
        // The first thread has no files if it has exited before the others.
        for thread in threads_of(process) {
            let mut has_files = false;
            for file in fs::read_dir(format!("/proc/{process}/task/{thread}/fd"))?.flatten() {
                has_files = true;
                let Ok(to) = fs::read_link(file.path()) else {
                    continue;
                };
                let inode = to.to_str().and_then(|to| to.strip_prefix("socket:["));
                inodes.extend(inode.and_then(|inode| inode.strip_suffix(']')?.parse::<u64>().ok()));
            }
            if has_files {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn connection_owner_is_identified() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let peer = |stream: &TcpStream, child| {
            let [peer] = of_all(std::slice::from_ref(stream), child)[..] else {
                panic!("one stream has one peer");
            };
            peer
        };
        assert_eq!(peer(&accepted, std::process::id()), Peer::Child);
        // With a grandchild: the shell waits for the one that connects.
        let connect = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}; echo; read -r _ <&3); true");
        let mut child = Command::new("bash")
            .args(["-c", &connect])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(peer(&accepted, child.id()), Peer::Stranger);
        let (of_child, _) = listener.accept().unwrap();
        let mut byte = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut byte)
            .unwrap();
        assert_eq!(peer(&of_child, child.id()), Peer::Child);
        drop(of_child);
        child.wait().unwrap();
        drop(own);
        assert_eq!(peer(&accepted, std::process::id()), Peer::Stranger);
    }
}
