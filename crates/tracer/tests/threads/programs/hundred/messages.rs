//! Channels, and messages through the kernel.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, TryRecvError, TrySendError, channel as unlimited,
    sync_channel,
};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::{in_threads, squares, sum_of};

pub fn many_senders() -> u64 {
    let (send, receive) = unlimited();
    let send = Mutex::new(Some(send));
    sum_of(4, |own| {
        let own_send = send.lock().unwrap().clone();
        if own == 3 {
            return 0;
        }
        let own_send = own_send.unwrap();
        (0..100).for_each(|n| own_send.send(n * own).unwrap());
        1
    }) + {
        drop(send);
        receive.iter().sum::<u64>()
    }
}

pub fn ring_of_rendezvous() -> u64 {
    let (sends, receives): (Vec<_>, Vec<_>) = (0..4).map(|_| sync_channel::<u64>(0)).unzip();
    let receives: Vec<_> = receives.into_iter().map(Mutex::new).collect();
    sum_of(4, |own| {
        let own = own as usize;
        let receive = receives[own].lock().unwrap();
        let next = &sends[(own + 1) % 4];
        let mut last = 0;
        if own == 0 {
            next.send(1).unwrap();
        }
        for round in 0..15 {
            last = receive.recv().unwrap();
            if own != 0 || round != 14 {
                next.send(last + squares(own as u64)).unwrap();
            }
        }
        if own == 0 { last } else { 0 }
    })
}

pub fn pipeline_with_room() -> u64 {
    let (first, mut receive) = sync_channel::<u64>(3);
    let mut stages = Vec::new();
    for stage in 1..4_u64 {
        let (send, next) = sync_channel(stage as usize);
        let from = std::mem::replace(&mut receive, next);
        stages.push(thread::spawn(move || {
            from.iter()
                .for_each(|value| send.send(value * 3 + stage).unwrap());
        }));
    }
    let source = thread::spawn(move || (0..80).for_each(|n| first.send(n).unwrap()));
    let sum = receive
        .iter()
        .fold(0, |sum: u64, value| sum.wrapping_mul(31) + value);
    source.join().unwrap();
    stages.into_iter().for_each(|stage| stage.join().unwrap());
    sum
}

pub fn receiver_polls() -> u64 {
    let (send, receive) = unlimited();
    let sender = thread::spawn(move || (0..50).for_each(|n| send.send(squares(n)).unwrap()));
    let mut sum = 0;
    loop {
        match receive.try_recv() {
            Ok(value) => sum += value,
            Err(TryRecvError::Empty) => thread::yield_now(),
            Err(TryRecvError::Disconnected) => break,
        }
    }
    sender.join().unwrap();
    sum
}

pub fn sender_tries() -> u64 {
    let (send, receive) = sync_channel(2);
    let receiver = thread::spawn(move || receive.iter().sum::<u64>());
    for mut value in 0..60 {
        while let Err(TrySendError::Full(back)) = send.try_send(value) {
            value = back;
            thread::yield_now();
        }
    }
    drop(send);
    receiver.join().unwrap()
}

pub fn message_comes_in_time() -> u64 {
    let (send, receive) = unlimited();
    let sender = thread::spawn(move || {
        squares(3000);
        send.send(42).unwrap();
    });
    let limit = Duration::from_secs(60);
    let value = receive.recv_timeout(limit).unwrap();
    sender.join().unwrap();
    value + u64::from(receive.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected))
}

pub fn receiver_is_gone() -> u64 {
    let (send, receive) = sync_channel(0);
    let receiver = thread::spawn(move || receive.iter().take(5).sum::<u64>());
    let mut refused = 0;
    for n in 0..10 {
        refused += u64::from(send.send(n).is_err());
    }
    receiver.join().unwrap() * 10 + refused
}

pub fn requests_bring_their_channel() -> u64 {
    let (ask, asked) = unlimited::<(u64, Sender<u64>)>();
    let server = thread::spawn(move || {
        for (n, answer) in asked {
            answer.send(squares(n)).unwrap();
        }
    });
    let ask = Mutex::new(ask);
    let sum = sum_of(3, |own| {
        let ask = ask.lock().unwrap().clone();
        let (answer, answered) = unlimited();
        (0..30).for_each(|n| ask.send((n + own, answer.clone())).unwrap());
        answered.iter().take(30).sum()
    });
    drop(ask);
    server.join().unwrap();
    sum
}

pub fn actor_keeps_accounts() -> u64 {
    enum Message {
        Deposit(u8, u64),
        Move(u8, u8, u64),
        Ask(Sender<u64>),
    }
    let (send, receive): (_, Receiver<Message>) = unlimited();
    let actor = thread::spawn(move || {
        let mut accounts = BTreeMap::new();
        for message in receive {
            match message {
                Message::Deposit(to, amount) => *accounts.entry(to).or_default() += amount,
                Message::Move(from, to, amount) => {
                    let amount = amount.min(accounts.get(&from).copied().unwrap_or(0));
                    *accounts.entry(from).or_default() -= amount;
                    *accounts.entry(to).or_default() += amount;
                }
                Message::Ask(answer) => answer.send(accounts.values().sum()).unwrap(),
            }
        }
        accounts.len() as u64
    });
    let shared = Mutex::new(send);
    in_threads(3, |own| {
        let send = shared.lock().unwrap().clone();
        for n in 0..40 {
            send.send(Message::Deposit(own as u8, n)).unwrap();
            send.send(Message::Move(own as u8, (own as u8 + 1) % 3, n / 2))
                .unwrap();
        }
    });
    let (answer, answered) = unlimited();
    let send = shared.into_inner().unwrap();
    send.send(Message::Ask(answer)).unwrap();
    drop(send);
    answered.recv().unwrap() * 10 + actor.join().unwrap()
}

pub fn sums_meet_in_a_tree() -> u64 {
    fn node(depth: u32, number: u64) -> u64 {
        if depth == 0 {
            return squares(number % 30);
        }
        let (send, receive) = unlimited();
        for side in 0..2 {
            let send = send.clone();
            thread::spawn(move || send.send(node(depth - 1, number * 2 + side)).unwrap());
        }
        drop(send);
        receive.iter().sum::<u64>() + 1
    }
    node(3, 1)
}

pub fn shared_receiver() -> u64 {
    let (send, receive) = unlimited();
    let receive = Arc::new(Mutex::new(receive));
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let receive = Arc::clone(&receive);
            thread::spawn(move || {
                let next = || receive.lock().unwrap().recv().ok();
                std::iter::from_fn(next).map(squares).sum::<u64>()
            })
        })
        .collect();
    (0..60).for_each(|n| send.send(n).unwrap());
    drop(send);
    workers.into_iter().map(|it| it.join().unwrap()).sum()
}

pub fn stream_answers() -> u64 {
    let (mut ours, mut theirs) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let mut word = [0; 8];
        while theirs.read_exact(&mut word).is_ok() {
            let value = u64::from_le_bytes(word);
            theirs.write_all(&squares(value).to_le_bytes()).unwrap();
        }
    });
    let mut sum = 0;
    for n in 0..25_u64 {
        let mut word = n.to_le_bytes();
        ours.write_all(&word).unwrap();
        ours.read_exact(&mut word).unwrap();
        sum += u64::from_le_bytes(word);
    }
    drop(ours);
    server.join().unwrap();
    sum
}

pub fn datagrams_arrive_whole() -> u64 {
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let sender = thread::spawn(move || {
        for length in 1..30_u8 {
            theirs.send(&vec![length; length.into()]).unwrap();
        }
    });
    let mut bytes = [0; 64];
    let sum = (1..30).map(|_| {
        let length = ours.recv(&mut bytes).unwrap();
        bytes[..length]
            .iter()
            .map(|&byte| u64::from(byte))
            .sum::<u64>()
    });
    let sum = sum.sum();
    sender.join().unwrap();
    sum
}

/// More than a pipe holds, so that the writer waits.
pub fn pipe_fills() -> u64 {
    let (mut read, mut write) = std::io::pipe().unwrap();
    let writer = thread::spawn(move || {
        for n in 0..40_u8 {
            write.write_all(&[n; 4096]).unwrap();
        }
    });
    let mut all = Vec::new();
    read.read_to_end(&mut all).unwrap();
    writer.join().unwrap();
    all.iter()
        .zip(0..)
        .map(|(&byte, n)| u64::from(byte) * (n % 7))
        .sum()
}
