//! The sources to compare against: a commit in its own worktree, or a directory.

mod error;
mod ignored_files;
mod reference;
mod submodules;
mod tree;
mod worktree;

pub use self::error::BaseTreeError;
pub use self::reference::commit_of;
pub use self::tree::{BaseTree, shown};
