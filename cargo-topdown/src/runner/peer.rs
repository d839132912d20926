//! Checks whether the bench has connected, or another process on this machine.
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

/// Returns whether `child` or a descendant holds the other end of `stream`.
pub fn of(stream: &TcpStream, child: u32) -> Peer {
    #[cfg(target_os = "linux")]
    return linux::peer_of(stream, child);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (stream, child);
        Peer::Unknown
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;
    use std::net::{IpAddr, SocketAddr, TcpStream};
    use std::os::unix::fs::MetadataExt;

    use super::Peer;
    use crate::processes::below;

    pub fn peer_of(stream: &TcpStream, child: u32) -> Peer {
        let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else {
            // It has hung up.
            return Peer::Stranger;
        };
        let mut is_told = false;
        let mut other_end = None;
        for file in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            if let Ok(table) = fs::read_to_string(file) {
                is_told = true;
                other_end = other_end.or_else(|| socket_in(&table, there, here));
            }
        }
        match other_end {
            Some(socket) => holder_of(&socket, child),
            None if is_told => Peer::Stranger,
            None => Peer::Unknown,
        }
    }

    /// One end of a connection.
    #[derive(Debug, PartialEq)]
    pub struct Socket {
        user: u32,
        /// 0 if no process holds it any more.
        inode: u64,
    }

    /// Finds the socket of the connection from `from` to `to` in the text of `/proc/net/tcp` or
    /// `tcp6`.
    pub fn socket_in(table: &str, from: SocketAddr, to: SocketAddr) -> Option<Socket> {
        let (from, to) = (written(from)?, written(to)?);
        table.lines().skip(1).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_end = |word: &str, end: &[String; 2]| end.iter().any(|end| end == word);
            (is_end(words.get(1)?, &from) && is_end(words.get(2)?, &to)).then_some(())?;
            Some(Socket {
                user: words.get(7)?.parse().ok()?,
                inode: words.get(9)?.parse().ok()?,
            })
        })
    }

    /// Returns an address as the kernel writes it, for IPv4 and mapped into IPv6.
    fn written(address: SocketAddr) -> Option<[String; 2]> {
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

    fn holder_of(socket: &Socket, child: u32) -> Peer {
        let mut is_hidden = false;
        let mut holds = |process: u32| match has_socket(process, socket.inode) {
            Ok(holds) => holds,
            Err(error) => {
                is_hidden |= error.kind() == io::ErrorKind::PermissionDenied;
                false
            }
        };
        if holds(child) || below(child).into_iter().any(&mut holds) {
            return Peer::Child;
        }
        // The open files of a bench with its own capabilities are hidden, but the socket's owner is
        // not.
        let own_user = fs::metadata("/proc/self").map(|metadata| metadata.uid());
        if is_hidden && own_user.is_ok_and(|user| user == socket.user) {
            Peer::Child
        } else {
            Peer::Stranger
        }
    }

    fn has_socket(process: u32, inode: u64) -> io::Result<bool> {
        let wanted = format!("socket:[{inode}]");
        let mut files = fs::read_dir(format!("/proc/{process}/fd"))?.flatten();
        Ok(files.any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == &*wanted)))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_holder_of_a_connection_is_told_from_others() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!(of(&accepted, std::process::id()), Peer::Child);
        // With a grandchild: the shell waits for the one that connects.
        let connect = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}; echo; read -r _ <&3); true");
        let mut child = Command::new("bash")
            .args(["-c", &connect])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert_eq!(of(&accepted, child.id()), Peer::Stranger);
        let (of_child, _) = listener.accept().unwrap();
        let mut byte = [0];
        child
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut byte)
            .unwrap();
        assert_eq!(of(&of_child, child.id()), Peer::Child);
        drop(of_child);
        child.wait().unwrap();
        // No process holds it any more.
        drop(own);
        assert_eq!(of(&accepted, std::process::id()), Peer::Stranger);
    }
}
