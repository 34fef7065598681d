"""What the attention kernels are made of: which keys a row sees, the loop over tiles of keys with the online softmax, and its end.

`band` says what a row sees: (S, T, CAUSAL, left, right, chunk). Row i of S stands at the key i + T - S of T (aligned at the end). It sees the keys from there
- left to there + right (CAUSAL: right is 0), of those only the ones of its chunk of `chunk` keys; None: no such limit.
`mods` changes scores: (softcap, score_mod, mask_mod, at, arguments), see `score` and `attention`; None: not at all.
"""

import tileloom as tl

LOG2E = tl.constexpr(1.4426950408889634)
LN2 = tl.constexpr(0.6931471805599453)
FALL = tl.constexpr(8.0)


@tl.jit
def key_tiles(m, last, band, BN: tl.constexpr):
    """How many tiles of keys the rows from m to before `last` see, at least one, and where these tiles end, in tiles."""
    S, T, CAUSAL, left, right, chunk = band
    stop = tl.minimum(T, last + T - S) if CAUSAL else T
    if right is not None:
        stop = tl.minimum(stop, last + T - S + right)
    tiles = tl.maximum(tl.cdiv(stop, BN), 1)  # without keys, one tile that nobody sees
    if left is None and chunk is None:
        return tiles, tiles
    start = 0
    if left is not None:
        start = tl.maximum(start, m + T - S - left)
    if chunk is not None:
        start = tl.maximum(start, tl.maximum(m + T - S, 0) // chunk * chunk)
    return tiles - tl.minimum(start // BN, tiles - 1), tiles


@tl.jit
def limits(rows, band):
    """The first and the last key that each row sees; None where `seen` needs none, as the end of the keys or the diagonal is all there is."""
    S, T, CAUSAL, left, right, chunk = band
    place = rows + (T - S)
    begin = None if chunk is None else tl.maximum(place, 0) // chunk * chunk
    first = begin if left is None else place - left
    if left is not None and chunk is not None:
        first = tl.maximum(first, begin)
    last = None
    if not CAUSAL and (right is not None or chunk is not None):
        last = T - 1
        if right is not None:
            last = tl.minimum(place + right, last)
        if chunk is not None:
            last = tl.minimum(begin + (chunk - 1), last)
    return first, last


@tl.jit
def seen(rows, columns, band, ends):
    """Which of the columns each row sees. ends: of `limits`."""
    S, T, CAUSAL, left, right, chunk = band
    first, last = ends
    columns = columns[None, :]
    if last is not None:
        mask = columns <= last[:, None]
    else:
        mask = columns <= rows[:, None] + (T - S) if CAUSAL else columns < T
    if first is not None:
        mask = mask & (columns >= first[:, None])
    return mask


@tl.jit
def score(s, scale, rows, columns, mods):
    """Scores from products, and what they are to be multiplied with for powers of two."""
    if mods is None:
        return s, scale
    softcap, score_mod, mask_mod, at, arguments = mods
    if softcap is None and score_mod is None:
        return s, scale
    if softcap is not None:  # softcap * tanh(s / softcap)
        s = tl.fast_tanh(s * (scale * LN2 / softcap))
        if score_mod is None:
            return s, softcap * LOG2E
        s = s * softcap
    else:
        s = s * (scale * LN2)
    if score_mod is not None:
        s = score_mod(s, *at, rows[:, None], columns[None, :], *arguments)
    return s, LOG2E


@tl.jit
def masked(s, rows, columns, band, ends, mods, blocks, j, BN: tl.constexpr):
    """Scores, -inf where a row does not see the column: by its limits, and by a mask_mod where that is asked."""
    mask = None if blocks is not None and blocks[4] else seen(rows, columns, band, ends)
    if mods is not None and mods[2] is not None:
        asked = mods[2](*mods[3], rows[:, None], columns[None, :], *mods[4])
        if blocks is not None and blocks[2] is not None:
            asked = asked | (blocks[5] + j >= blocks[1] * (blocks[3] // BN))
        mask = asked if mask is None else mask & asked
    return s if mask is None else tl.where(mask, s, -tl.inf)


@tl.jit
def named(blocks, index):
    """The number of the block that stands at `index` of the two lists, one behind the other."""
    first = tl.load(blocks[0] + index, index < blocks[1], 0)
    return first if blocks[2] is None else tl.where(index < blocks[1], first, tl.load(blocks[2] + (index - blocks[1]), index >= blocks[1], 0))


@tl.jit
def products(qt, qv, k, v, places, READ: tl.constexpr, n, BN: tl.constexpr, D: tl.constexpr, columns_of_v, apart):
    """(the scores' products for the keys from n on, the tile of v if it has been read, or None). See attend."""
    s = tl.dot(qt, READ(k, places[0], n, BN, qt.shape[1]).T)
    values, other = None, None
    for index in tl.static_range(len(qv)):
        part = READ(v, places[1], n, BN, D, columns_of_v[index])
        if apart is None:
            s = tl.dot(qv[index], part.T, s)
        else:
            other = tl.dot(qv[index], part.T) if index == 0 else tl.dot(qv[index], part.T, other)
        values = part if index == 0 else values
    if apart is not None:
        s = s * apart[0] + other * apart[1]
    return s, values


@tl.jit
def reference(top, largest, most, slack, THRESHOLD: tl.constexpr, FOLLOW: tl.constexpr):
    """(what the next exponentials are relative to, the largest score so far where that is another): `most` is the tile's. FOLLOW: it is `most` itself, at
    most `slack` below the largest: a power of two, which 8 bits have exactly, and what is large beside it has most of the error. Else it follows the scores
    where they grow by more than `slack`."""
    if FOLLOW:
        largest = tl.maximum(largest, most)
        return tl.maximum(most, largest - slack), largest
    return tl.where(most > top + slack, most, top) if THRESHOLD else tl.maximum(top, most), largest


@tl.jit
def attend(qt, k, v, places, READ: tl.constexpr, rows, tiles, band, scale, mods, D: tl.constexpr, BN: tl.constexpr, THRESHOLD: tl.constexpr,
           qv=(), columns_of_v=(0,), blocks=None, apart=None):
    """(acc [rows, D], top [rows], total [rows], scale, raised): for p = 2^((score - top) * scale + raised), the sums of p v, the largest score, the sums of p.

    tiles: what key_tiles gives. READ(x, place, n, BN, D, column): the rows of k or v from n on, as a tile [BN, D], zeros beyond T; places: the place of each.
    blocks: None, or (list of blocks of keys, how many, list of blocks that the mask_mod of mods is not asked for, or None; keys of a block, whether all
    blocks are whole; the first tile): tiles then is (how many tiles, any number), of these blocks from that tile on.
    qv: tiles [rows, D] whose products with the columns of v from columns_of_v on are added to the scores; acc is of the columns from the first of these on.
    apart: None, or factors of the products with k and of those with v.
    top follows the scores only where they grow by more than 2^THRESHOLD (None: 8 for 128 rows, else 0): acc is scaled less often, and p is at most that.
    p in 8 bits is raised, so that more of it is a normal number: at most 2^8 with what the scores may have grown. Without a THRESHOLD top is then the largest
    score of the last tile, not of all (`reference`)."""
    BM: tl.constexpr = qt.shape[0]
    SLACK: tl.constexpr = (8.0 if BM == 128 else 0.0) if THRESHOLD is None else THRESHOLD
    raised: tl.constexpr = 8.0 - SLACK if v.dtype.is_fp8() else 0.0
    follow: tl.constexpr = raised and not SLACK
    count, end = tiles
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), -tl.inf, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    ends = limits(rows, band)
    factor = scale if mods is None else score(0.0, scale, rows, rows, mods)[1]
    slack = SLACK / factor if SLACK else FALL / factor if follow else None
    largest = top
    # The block of the next iteration is read an iteration ahead: its copies wait for nothing then.
    ahead = 0 if blocks is None else named(blocks, blocks[5] // (blocks[3] // BN))
    for j in tl.range(count):  # the last tile first: the end of the keys and the diagonal cut only those that come first
        if blocks is None:
            n = (end - 1 - j) * BN
        else:
            n = ahead * blocks[3] + (blocks[5] + j) % (blocks[3] // BN) * BN
            ahead = named(blocks, (blocks[5] + tl.minimum(j + 1, count - 1)) // (blocks[3] // BN))
        s, values = products(qt, qv, k, v, places, READ, n, BN, D, columns_of_v, apart)
        columns = n + tl.arange(0, BN)
        s, _ = score(s, scale, rows, columns, mods)
        s = masked(s, rows, columns, band, ends, mods, blocks, j, BN)
        most = tl.max(s, 1)
        new, largest = reference(top, largest, most, slack, SLACK, follow)
        shift = tl.where(new == -tl.inf, 0.0, new)  # a row that has seen no key yet
        p = tl.exp2(s * factor - (shift * factor - raised)[:, None]) if raised else tl.exp2(s * factor - (shift * factor)[:, None])
        alpha = tl.exp2((top - shift) * factor)
        total = total * alpha + tl.sum(p, 1)
        if values is None:
            values = READ(v, places[1], n, BN, D, columns_of_v[0])
        acc = tl.dot(p.to(v.dtype), values, acc * alpha[:, None])
        top = new
    return acc, top, total, factor, raised


@tl.jit
def descaled(scale, scales, place):
    """`scale` times the factors of q and k at `place` (an index), where there are any. scales: pointers to those of q, k and v, or None."""
    for factor in scales[:2]:
        if factor is not None:
            scale = scale * tl.load(factor + place)
    return scale


@tl.jit
def finish(sums, sink):
    """What attend gives, divided: (out [rows, D], what `logarithm` takes). A row that has seen no key gives 0.

    sink: None, or a score without a value that each row sees too (a number or [rows])."""
    acc, top, total, scale, raised = sums
    if sink is not None:
        sink, top, scale = sink * LOG2E, top * scale, 1.0
        new = tl.maximum(top, sink)
        shift = tl.where(new == -tl.inf, 0.0, new)
        alpha = tl.exp2(top - shift)
        total = total * alpha + tl.exp2(sink - shift + raised)
        acc = acc * alpha[:, None]
        top = new
    inverse = tl.where(total > 0, 1.0 / total, 0.0)
    return acc * inverse[:, None], (top, total, scale, raised)


@tl.jit
def logarithm(rest):
    """The logarithm of the sum of exp(score) of each row; -inf where no key was seen."""
    top, total, scale, raised = rest
    return (top * scale - raised + tl.log2(total)) * LN2 if raised else (top * scale + tl.log2(total)) * LN2


@tl.jit
def dense(x: tl.view, place, n, BN: tl.constexpr, D: tl.constexpr, column=0):
    """The rows from n of x [B, T, G, columns], D columns from `column` on, for place = (batch, head)."""
    return x.load([place[0], n, place[1], column], [1, BN, 1, D]).reshape(BN, D)
