//! The order of points: commits with their parents, or toolchains by age.

/// Points from the good one, which is point 0, to the bad one, which is the last. Parents come
/// before their children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    parents: Vec<Vec<usize>>,
}

impl History {
    /// Makes a history from the parents of each point. Those that are not before it are left out:
    /// they are not part of the history.
    pub fn new(mut parents: Vec<Vec<usize>>) -> History {
        for (point, parents) in parents.iter_mut().enumerate() {
            parents.retain(|parent| *parent < point);
        }
        History { parents }
    }

    /// Makes a history in which each point has the one before it as its parent.
    pub fn linear(points: usize) -> History {
        History::new(
            (0..points)
                .map(|point| point.checked_sub(1).into_iter().collect())
                .collect(),
        )
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Returns for each point whether it is `point` or one of its ancestors.
    pub fn ancestors(&self, point: usize) -> Vec<bool> {
        let mut is_ancestor = vec![false; self.len()];
        if let Some(itself) = is_ancestor.get_mut(point) {
            *itself = true;
        }
        for child in (0..self.len().min(point + 1)).rev() {
            if is_ancestor[child] {
                for parent in &self.parents[child] {
                    is_ancestor[*parent] = true;
                }
            }
        }
        is_ancestor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_follow_all_parents() {
        // 0 ─ 1 ─ 3 ─ 4, with 2 beside 1.
        let history = History::new(vec![vec![], vec![0], vec![0], vec![1, 2], vec![3]]);
        assert_eq!(history.ancestors(1), [true, true, false, false, false]);
        assert_eq!(history.ancestors(4), [true; 5]);
    }

    #[test]
    fn parents_outside_are_left_out() {
        let history = History::new(vec![vec![7], vec![0, 1]]);
        assert_eq!(history, History::linear(2));
    }
}
