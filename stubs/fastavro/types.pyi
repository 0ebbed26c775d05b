from collections.abc import Mapping, Sequence

Schema = str | Sequence[object] | Mapping[str, object]
