# SPDX-License-Identifier: MIT
"""plot - lines on two logarithmic axes, as a self-contained SVG and as text."""
import html
import math

COLOURS = ["#1b6ca8", "#c8553d", "#3a7d44", "#8e6bbf", "#8a8a8a", "#b8860b"]
WIDTH, HEIGHT, LEFT, TOP, PANEL = 820, 440, 80, 50, 560


def _ticks(low, high):
    """Powers of ten that cover low ... high."""
    return [10.0 ** e for e in range(math.floor(math.log10(low)),
                                     math.ceil(math.log10(high)) + 1)]


def _label(x):
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if x >= size:
            return f"{x / size:g}{unit}"
    return f"{x:g}"


class _Frame:
    """Maps values to the plane of the picture."""

    def __init__(self, lines):
        xs = [x for line in lines.values() for x, _ in line]
        ys = [y for line in lines.values() for _, y in line]
        self.xs = sorted(set(xs))
        self.ticks = _ticks(min(ys), max(ys))
        self.x0, self.x1 = math.log(min(xs)), math.log(max(xs) * 1.0001)
        self.y0 = math.log(self.ticks[0])
        self.y1 = math.log(self.ticks[-1] * 1.0001)

    def x(self, value):
        return (math.log(value) - self.x0) / (self.x1 - self.x0)

    def y(self, value):
        return (math.log(value) - self.y0) / (self.y1 - self.y0)


def svg(title, x_name, y_name, lines):
    """lines: {name: [(x, y), ...]}, all above 0; at least two x."""
    frame, height = _Frame(lines), HEIGHT - TOP - 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
           f'{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="28" font-size="16">{html.escape(title)}'
           '</text>']

    def place(x, y):
        return (LEFT + PANEL * frame.x(x), TOP + height * (1 - frame.y(y)))

    for tick in frame.ticks:
        _, y = place(frame.xs[0], tick)
        out.append(f'<path d="M{LEFT} {y:.1f}h{PANEL}" stroke="#ddd"/>'
                   f'<text x="{LEFT - 8}" y="{y + 4:.1f}" '
                   f'text-anchor="end">{_label(tick)}</text>')
    for tick in frame.xs:
        x, _ = place(tick, frame.ticks[0])
        out.append(f'<text x="{x:.1f}" y="{TOP + height + 18}" '
                   f'text-anchor="middle">{tick:g}</text>')
    for i, (name, line) in enumerate(lines.items()):
        colour = COLOURS[i % len(COLOURS)]
        points = " ".join("%.1f,%.1f" % place(x, y) for x, y in line)
        dash = ' stroke-dasharray="4 4"' if name.startswith("~") else ""
        out.append(f'<polyline points="{points}" fill="none" stroke='
                   f'"{colour}" stroke-width="2"{dash}/>')
        out.append(f'<text x="{LEFT + PANEL + 16}" y="{TOP + 16 + 18 * i}" '
                   f'fill="{colour}">'
                   f'{html.escape(name.lstrip("~"))}</text>')
    out.append(f'<text x="{LEFT + PANEL / 2}" y="{HEIGHT - 12}" '
               f'text-anchor="middle">{html.escape(x_name)}</text>'
               f'<text transform="translate(18 {TOP + height / 2}) '
               f'rotate(-90)" text-anchor="middle">{html.escape(y_name)}'
               '</text></svg>\n')
    return "\n".join(out)


def text(title, lines, width=64, height=16):
    """The same picture in characters; a line's mark is its first letter."""
    frame = _Frame(lines)
    grid = [[" "] * width for _ in range(height)]
    for name, line in lines.items():
        for x, y in line:
            row = round((1 - frame.y(y)) * (height - 1))
            grid[row][round(frame.x(x) * (width - 1))] = name.lstrip("~")[0]
    rows = [title]
    rows += [f"{_label(frame.ticks[-1]) if i == 0 else '':>6} |"
             + "".join(row) for i, row in enumerate(grid)]
    rows[-1] = f"{_label(frame.ticks[0]):>6} |" + "".join(grid[-1])
    rows.append(" " * 7 + "+" + "-" * width)
    rows.append(" " * 8 + f"{frame.xs[0]:<{width // 2}g}"
                f"{frame.xs[-1]:>{width // 2}g}")
    rows += [f"        {n.lstrip('~')[0]}  {n.lstrip('~')}" for n in lines]
    return "\n".join(rows) + "\n"
