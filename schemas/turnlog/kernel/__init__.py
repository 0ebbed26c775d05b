"""Pure folds over the session event log: state, Surface, Messages, and every view of them."""
