//! A hundred programs with several threads. What they return does not depend on the order of their
//! threads.

mod atomics;
mod conditions;
mod lifetimes;
mod locks;
mod messages;
mod own_locks;
mod posix;
mod structures;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::squares;

macro_rules! programs {
    ($($module:ident { $($name:ident),* $(,)? })*) => {
        &[$($((concat!(stringify!($module), "::", stringify!($name)), $module::$name),)*)*]
    };
}

type Program = fn() -> u64;

pub const HUNDRED: &[(&str, Program)] = programs! {
    locks {
        mutex_counts, mutex_is_tried, transfers_lock_in_order, mutex_guards_a_vector,
        mutex_is_poisoned, mutexes_are_nested, readers_see_whole_writes,
        read_write_lock_is_tried, only_writers_poison, readers_hold_at_once, once_runs_once,
        once_is_poisoned, once_lock_is_initialised_once, once_lock_is_set_by_one,
        lazy_lock_is_forced, lazy_lock_is_poisoned, barrier_separates_rounds,
        barrier_has_one_leader,
    }
    conditions {
        bounded_buffer, token_goes_round, gate_opens_for_all, timed_wait_is_notified,
        semaphore_limits_holders, latch_counts_down, philosophers_take_forks_in_order,
        philosophers_ask_a_waiter, reentrant_lock, writers_come_first,
    }
    atomics {
        message_is_published, message_is_fenced, stores_are_not_missed_by_both,
        fenced_stores_are_not_missed_by_both, readers_agree_in_order, swapped_tokens_are_kept,
        strong_exchange_counts, weak_exchange_counts, additions_of_every_ordering,
        bits_change_at_once, extremes_are_kept, updates_are_retried, flags_are_claimed_once,
        pointers_change_hands, narrow_atomics_wrap, wide_exchange_counts, sequence_lock,
        shared_counts_end_at_one, weak_references_end, hazard_pointers, versions_are_replaced,
        race_to_initialise, counter_in_stripes,
    }
    own_locks {
        spin_lock, spin_lock_backs_off, lock_yields, ticket_lock, peterson_lock, dekker_lock,
        bakery_lock, filter_lock, queue_lock_with_successors, queue_lock_with_predecessors,
        futex_lock, futex_wakes_by_bits, spinning_read_write_lock, spinning_barrier, parking_lock,
    }
    posix {
        threads_of_posix, recursive_mutex, checking_mutex, robust_mutex, condition_of_posix,
        read_write_lock_of_posix, barrier_of_posix, spin_lock_of_posix,
    }
    messages {
        many_senders, ring_of_rendezvous, pipeline_with_room, receiver_polls, sender_tries,
        message_comes_in_time, receiver_is_gone, requests_bring_their_channel,
        actor_keeps_accounts, sums_meet_in_a_tree, shared_receiver, stream_answers,
        datagrams_arrive_whole, pipe_fills,
    }
    lifetimes {
        chunks_are_borrowed, scopes_are_nested, scope_passes_panics_on, panics_have_messages,
        panics_have_values, panics_are_caught_inside, unwinding_drops, threads_start_threads,
        threads_have_names, kernel_knows_names, stacks_have_sizes, threads_have_numbers,
        thread_locals_are_dropped, thread_locals_end_in_order, thread_locals_are_lazy,
        keys_of_posix_have_destructors, token_outlasts_parking, parked_thread_is_woken_in_time,
        detached_thread_ends, handles_are_joined_elsewhere, short_threads_in_sequence,
        end_is_polled,
    }
    structures {
        stack_of_nodes, queue_of_nodes, ring_of_two, ring_of_many, work_is_stolen,
        deques_are_robbed, table_remembers, levels_of_a_graph, sums_of_prefixes,
        pool_joins_halves, pool_sorts,
    }
};

/// Calls `work` in this many threads, each with its number.
fn in_threads(threads: u64, work: impl Fn(u64) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for own in 0..threads {
            scope.spawn(move || work(own));
        }
    });
}

/// The same, and returns the sum of what they return.
fn sum_of(threads: u64, work: impl Fn(u64) -> u64 + Sync) -> u64 {
    let sum = AtomicU64::new(0);
    in_threads(threads, |own| {
        sum.fetch_add(work(own), Ordering::Relaxed);
    });
    sum.into_inner()
}
