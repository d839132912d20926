//! Messages from thread to thread: in memory, and through the kernel.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel as unlimited, sync_channel};
use std::thread;

use super::squares;

pub fn channel<const N: usize>() -> String {
    let (send, receive) = unlimited();
    let threads: Vec<_> = (0..N as u64)
        .map(|n| {
            let send = send.clone();
            thread::spawn(move || (0..200).for_each(|step| send.send(squares(n + step)).unwrap()))
        })
        .collect();
    drop(send);
    let sum: u64 = receive.iter().sum();
    threads.into_iter().for_each(|it| it.join().unwrap());
    sum.to_string()
}

/// A chain of threads that hand each number on.
pub fn rendezvous<const N: usize>() -> String {
    let (first, mut receive) = sync_channel::<u64>(0);
    let mut threads = Vec::new();
    for n in 0..N as u64 {
        let (send, next) = sync_channel(n as usize % 2);
        let from = std::mem::replace(&mut receive, next);
        threads.push(thread::spawn(move || {
            from.iter()
                .for_each(|value| send.send(value + squares(n)).unwrap());
        }));
    }
    threads.push(thread::spawn(move || {
        (0..50).for_each(|n| first.send(n).unwrap())
    }));
    let sum: u64 = receive.iter().sum();
    threads.into_iter().for_each(|it| it.join().unwrap());
    sum.to_string()
}

pub fn pipe<const N: usize>() -> String {
    let (mut read, write) = std::io::pipe().unwrap();
    let threads: Vec<_> = (0..N as u8)
        .map(|n| {
            let mut write = write.try_clone().unwrap();
            thread::spawn(move || (0..50).for_each(|step| write.write_all(&[n ^ step]).unwrap()))
        })
        .collect();
    drop(write);
    let mut bytes = Vec::new();
    read.read_to_end(&mut bytes).unwrap();
    threads.into_iter().for_each(|it| it.join().unwrap());
    bytes.sort_unstable();
    format!("{bytes:?}")
}

/// Sockets of both kinds, which answer.
pub fn socket<const N: usize>() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        for _ in 0..N {
            let (mut stream, _) = listener.accept().unwrap();
            let mut byte = [0];
            while stream.read(&mut byte).unwrap() == 1 {
                stream.write_all(&[byte[0].wrapping_mul(3)]).unwrap();
            }
        }
    });
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let relay = thread::spawn(move || {
        let mut byte = [0];
        while theirs.read(&mut byte).unwrap() == 1 {
            theirs.write_all(&[byte[0].wrapping_add(1)]).unwrap();
        }
    });
    let mut sum = 0_u64;
    for n in 0..N as u8 {
        let mut stream = TcpStream::connect(address).unwrap();
        for step in 0..10 {
            let mut byte = [n + step];
            stream.write_all(&byte).unwrap();
            stream.read_exact(&mut byte).unwrap();
            ours.write_all(&byte).unwrap();
            ours.read_exact(&mut byte).unwrap();
            sum += u64::from(byte[0]);
        }
    }
    drop(ours);
    server.join().unwrap();
    relay.join().unwrap();
    sum.to_string()
}

/// An event counter that a thread polls, as the event loops of asynchronous runtimes do.
pub fn event<const N: usize>() -> String {
    let new = |descriptor: i32| {
        assert!(descriptor >= 0);
        // SAFETY: a new descriptor, which nothing else owns.
        unsafe { OwnedFd::from_raw_fd(descriptor) }
    };
    // SAFETY: makes a descriptor each.
    let (event, poll) = unsafe {
        (
            new(libc::eventfd(0, libc::EFD_NONBLOCK)),
            new(libc::epoll_create1(0)),
        )
    };
    let mut interest = libc::epoll_event {
        events: libc::EPOLLIN as u32,
        u64: 7,
    };
    let (event, poll) = (&event, &poll);
    // SAFETY: the kernel reads one entry.
    let added = unsafe {
        let (poll, event) = (poll.as_raw_fd(), event.as_raw_fd());
        libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, event, &mut interest)
    };
    assert_eq!(added, 0);
    let mut sum = 0;
    thread::scope(|scope| {
        for n in 0..N as u64 {
            scope.spawn(move || {
                for step in 0..20 {
                    let value = squares(n + step % 4) + 1;
                    // SAFETY: the kernel reads eight bytes.
                    let written =
                        unsafe { libc::write(event.as_raw_fd(), (&raw const value).cast(), 8) };
                    assert_eq!(written, 8);
                }
            });
        }
        let expected: u64 = (0..N as u64)
            .map(|n| (0..20).map(|step| squares(n + step % 4) + 1).sum::<u64>())
            .sum();
        while sum < expected {
            let mut happened = [interest; 4];
            let mut value = 0_u64;
            // SAFETY: the kernel writes up to four entries, and eight bytes.
            unsafe {
                assert_eq!(
                    libc::epoll_wait(poll.as_raw_fd(), happened.as_mut_ptr(), 4, 10_000),
                    1
                );
                assert_eq!(libc::read(event.as_raw_fd(), (&raw mut value).cast(), 8), 8);
            }
            sum += value;
        }
    });
    sum.to_string()
}
