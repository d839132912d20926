//! `Bencher` and `AsyncBencher` with an `iter_custom` that accepts what criterion's users return.
//!
//! criterion's `iter_custom` requires the measurement's own value. Closures written for wall-clock
//! time return a `Duration`, so this one accepts anything that converts into that value. Everything
//! else goes to the original, with routines by value so that the measured loop stays the same.

#[cfg(feature = "async")]
use std::future::Future;

use criterion::BatchSize;
#[cfg(feature = "async")]
use criterion::async_executor::AsyncExecutor;
use criterion::measurement::Measurement;

use crate::TopDown;

/// criterion's `Bencher` with the borrow hidden: users write one lifetime, but a reference to the
/// original has two.
trait Original<M: Measurement> {
    fn lend(&mut self, borrower: &mut dyn FnMut(&mut criterion::Bencher<'_, M>));
}

impl<M: Measurement> Original<M> for criterion::Bencher<'_, M> {
    fn lend(&mut self, borrower: &mut dyn FnMut(&mut criterion::Bencher<'_, M>)) {
        borrower(self);
    }
}

/// criterion's `Bencher`, measuring TopDown by default.
pub struct Bencher<'a, M: Measurement = TopDown> {
    original: &'a mut (dyn Original<M> + 'a),
}

impl<'a, M: Measurement> Bencher<'a, M> {
    pub(super) fn new(original: &'a mut criterion::Bencher<'_, M>) -> Bencher<'a, M> {
        Bencher { original }
    }

    fn with(&mut self, call: impl FnOnce(&mut criterion::Bencher<'_, M>)) {
        let mut call = Some(call);
        self.original.lend(&mut |original| {
            if let Some(call) = call.take() {
                call(original);
            }
        });
    }

    /// Like criterion's `iter`.
    pub fn iter<O, R>(&mut self, routine: R)
    where
        R: FnMut() -> O,
    {
        self.with(|b| b.iter(routine));
    }

    /// Like criterion's `iter_custom`. The closure returns the measurement's value, a
    /// [`Sample`](crate::sample::Sample) from [`TopDown::measure`], or something that converts into
    /// it: a `Duration`, which carries only the time.
    pub fn iter_custom<V, R>(&mut self, mut routine: R)
    where
        V: Into<M::Value>,
        R: FnMut(u64) -> V,
    {
        self.with(|b| b.iter_custom(|iterations| routine(iterations).into()));
    }

    /// Like criterion's `iter_with_setup`.
    pub fn iter_with_setup<I, O, S, R>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.with(|b| b.iter_with_setup(setup, routine));
    }

    /// Like criterion's `iter_with_large_drop`.
    pub fn iter_with_large_drop<O, R>(&mut self, routine: R)
    where
        R: FnMut() -> O,
    {
        self.with(|b| b.iter_with_large_drop(routine));
    }

    /// Like criterion's `iter_batched`.
    pub fn iter_batched<I, O, S, R>(&mut self, setup: S, routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> O,
    {
        self.with(|b| b.iter_batched(setup, routine, size));
    }

    /// Like criterion's `iter_batched_ref`.
    pub fn iter_batched_ref<I, O, S, R>(&mut self, setup: S, routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> O,
    {
        self.with(|b| b.iter_batched_ref(setup, routine, size));
    }

    /// Like criterion's `to_async`.
    #[cfg(feature = "async")]
    pub fn to_async<'b, A: AsyncExecutor>(&'b mut self, runner: A) -> AsyncBencher<'a, 'b, A, M> {
        AsyncBencher {
            bencher: self,
            runner,
        }
    }
}

/// criterion's `AsyncBencher`, measuring TopDown by default.
#[cfg(feature = "async")]
pub struct AsyncBencher<'a, 'b, A: AsyncExecutor, M: Measurement = TopDown> {
    bencher: &'b mut Bencher<'a, M>,
    runner: A,
}

/// criterion takes a runner by value.
#[cfg(feature = "async")]
struct Borrowed<'r, A>(&'r A);

#[cfg(feature = "async")]
impl<A: AsyncExecutor> AsyncExecutor for Borrowed<'_, A> {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

#[cfg(feature = "async")]
impl<A: AsyncExecutor, M: Measurement> AsyncBencher<'_, '_, A, M> {
    /// Like criterion's `iter`.
    pub fn iter<O, R, F>(&mut self, routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| b.to_async(Borrowed(runner)).iter(routine));
    }

    /// Like criterion's `iter_custom`, accepting what [`Bencher::iter_custom`] accepts.
    pub fn iter_custom<V, R, F>(&mut self, mut routine: R)
    where
        V: Into<M::Value>,
        R: FnMut(u64) -> F,
        F: Future<Output = V>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| {
            b.to_async(Borrowed(runner)).iter_custom(|iterations| {
                let value = routine(iterations);
                async move { value.await.into() }
            });
        });
    }

    /// Like criterion's `iter_with_setup`.
    pub fn iter_with_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| b.to_async(Borrowed(runner)).iter_with_setup(setup, routine));
    }

    /// Like criterion's `iter_with_large_drop`.
    pub fn iter_with_large_drop<O, R, F>(&mut self, routine: R)
    where
        R: FnMut() -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| b.to_async(Borrowed(runner)).iter_with_large_drop(routine));
    }

    /// Like criterion's `iter_with_large_setup`.
    pub fn iter_with_large_setup<I, O, S, R, F>(&mut self, setup: S, routine: R)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| {
            b.to_async(Borrowed(runner))
                .iter_with_large_setup(setup, routine);
        });
    }

    /// Like criterion's `iter_batched`.
    pub fn iter_batched<I, O, S, R, F>(&mut self, setup: S, routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(I) -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| {
            b.to_async(Borrowed(runner))
                .iter_batched(setup, routine, size)
        });
    }

    /// Like criterion's `iter_batched_ref`.
    pub fn iter_batched_ref<I, O, S, R, F>(&mut self, setup: S, routine: R, size: BatchSize)
    where
        S: FnMut() -> I,
        R: FnMut(&mut I) -> F,
        F: Future<Output = O>,
    {
        let AsyncBencher { bencher, runner } = self;
        bencher.with(|b| {
            b.to_async(Borrowed(runner))
                .iter_batched_ref(setup, routine, size)
        });
    }
}
