# SPDX-License-Identifier: Apache-2.0
"""What must hold of a page of `moeswitch run --html` that a browser shows, see page.py."""
import re

from command import fail

GROUP, MINUS = "\u202f", "\u2212"
DIRECTIONS = ("up", "down")
CLASSES = {"ctrl": "control", "store": "stores", "request": "reduction requests", "partial": "partial sums and results"}
# of rows and panels, and where bins begin: no figures of their own
NAMES = re.compile(r"/tool|/params/workload|/workload/\d+/(layer|pass)|/systems/\d+/(system|ports/\d+/port|"
                   r"(layers/\d+/)?(layer|pass|(latency|series/ports)/\d+/port|phases/\d+/phase|"
                   r"latency/\d+/bins/\d+/0))")
OPEN_ALL = """(async () => {
    document.querySelectorAll('details').forEach((d) => d.open = true);
    await new Promise((done) => setTimeout(done, 50));
    while ([...document.querySelectorAll('details')].some((d) => d.children.length < 2))
        await new Promise((done) => setTimeout(done, 50));
})()"""


def resolve(root, pointer):
    at = root
    for part in pointer.split("/")[1:]:
        at = at[int(part)] if isinstance(at, list) else at[part]
    return at


def number(text):
    return float(text.replace(GROUP, "").replace(MINUS, "-").removesuffix(" %"))


def leaves(value, pointer=""):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{pointer}/{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, f"{pointer}/{i}")
    else:
        yield pointer


def check_cell(pointer, text, want):
    where = f"{pointer}: the page has {text!r}, the JSON {want!r}"
    if isinstance(want, bool):
        return text == str(want).lower() or fail(where)
    if isinstance(want, str) and want.isdigit():
        return text.replace(GROUP, "") == want or fail(where)
    if isinstance(want, str):
        clean = re.sub("[\0-\x1f\x7f-\x9f\u2028\u2029\ufdd0-\ufdef\ufffe\uffff\U0001fffe]", "\ufffd", want)
        return text == clean or fail(where)
    if not re.fullmatch(rf"{MINUS}?\d{{1,3}}({GROUP}\d{{3}})*(\.\d+)?( %)?", text):
        fail(where)
    shown = want * 100 if text.endswith(" %") else want
    decimals = len(text.removesuffix(" %").partition(".")[2])
    if isinstance(want, int) and not text.endswith(" %") and decimals == 0:
        return number(text) == want or fail(where)
    return abs(number(text) - shown) <= 0.5000001 * 10 ** -decimals or fail(where)


def check_figures(browser, root):
    browser.evaluate(OPEN_ALL)
    found = browser.evaluate("""[...document.querySelectorAll('[data-json]')].map((e) => [e.dataset.json,
        e.tagName === 'TR' ? [...e.querySelectorAll('td')].map((cell) => cell.textContent) : e.textContent])""")
    seen = set()
    for pointer, text in found:
        want = resolve(root, pointer)
        if isinstance(text, list):
            if [number(cell) for cell in text] != want:
                fail(f"{pointer}: the page has {text[:9]}..., the JSON {want[:9]}...")
            seen |= {f"{pointer}/{i}" for i in range(len(want))}
        else:
            check_cell(pointer, text, want)
            seen.add(pointer)
    missing = [p for p in leaves(root) if p not in seen and not NAMES.fullmatch(p) and resolve(root, p) is not None]
    if missing:
        fail(f"{len(missing)} figures of the JSON are not on the page, {missing[0]} first")
    return len(seen)


# ---- charts --------------------------------------------------------------------------------------


def layers_of(system):
    return system.get("layers", [system])


def counted_of(root, system):
    """Those whose cycles are the system's."""
    passes = ("backward",) if root["params"].get("pass") == "backward" else ("forward", "backward")
    return [layer for layer in layers_of(system) if layer.get("pass", "forward") in passes]


def check_compare(browser, root):
    """Each system has its row with its figures, and bars are as long as their cycles, with the
    bounds where they are."""
    rows = browser.evaluate("""[...document.querySelectorAll('#compare tbody tr')].map((row) => ({
        name: row.querySelector('th').textContent,
        text: [...row.querySelectorAll('td:not(.chart)')].map((c) => c.textContent),
        bar: row.querySelector('rect').getAttribute('width'), best: row.className === 'best',
        lines: Object.fromEntries([...row.querySelectorAll('line')].map((l) =>
            [l.getAttribute('class'), l.getAttribute('x1')]))}))""")
    limits = [sum(layer["limit"]["cycles"] for layer in counted_of(root, s)) for s in root["systems"]]
    most = max(max(s["cycles"], s["own_bound_cycles"], s["strict_bound_cycles"], limit)
               for s, limit in zip(root["systems"], limits))
    if [row["name"] for row in rows] != [s["system"] for s in root["systems"]]:
        fail(f"not a row for each system: {rows}")
    least = min(s["cycles"] for s in root["systems"])
    for row, s, limit in zip(rows, root["systems"], limits):
        check_cell(s["system"], row["text"][0], s["cycles"])
        if s["speedup"] is not None:
            check_cell(s["system"], row["text"][1], s["speedup"])
        check_cell(s["system"], row["text"][2], s["strict_share"])
        if row["best"] and (s["cycles"] != least or len(rows) == 1):
            fail(f"{s['system']} is not the fastest")
        drawn = {"bar": row["bar"], **row["lines"]}
        wanted = {"bar": s["cycles"], "strict": s["strict_bound_cycles"], "own": s["own_bound_cycles"]}
        wanted |= {"limit": limit} if limit != s["own_bound_cycles"] else {}
        if drawn.keys() != wanted.keys() or any(abs(float(drawn[k][:-1]) - 100 * v / most) > 0.001
                                                for k, v in wanted.items()):
            fail(f"{s['system']}: {drawn} % of the chart are not {wanted} of {most} cycles")
    if len(rows) > 1 and sum(row["best"] for row in rows) != 1:
        fail("not one system is the fastest")


def check_parts(browser, root):
    rows = browser.evaluate("""[...document.querySelectorAll('#bounds .parts tbody tr')].map((row) =>
        [...row.querySelectorAll('td')].map((c) =>
            [(c.lastChild ?? c).textContent, c.querySelector('.marked') !== null]))""")
    for row, s in zip(rows, root["systems"], strict=True):
        busy = [sum(layer[key]["cycles"] for layer in counted_of(root, s)) / s["cycles"]
                for key in ("adder", "engine", "banks")]
        busy = [s["up"]["use_max"], s["down"]["use_max"], *busy]
        for (text, marked), value in zip(row[:-1], busy, strict=True):
            check_cell(f"{s['system']}, parts", text, value)
            if marked != (value == max(busy)):
                fail(f"{s['system']}: another part is the busiest")
        if row[-1][0] not in {layer["limit"]["at"] for layer in counted_of(root, s)} | {"varies"}:
            fail(f"{s['system']}: the limit is set by {row[-1]}")


def check_columns(browser, root):
    """What the charts say of each class on each port: flits and bytes of the JSON."""
    column = re.compile(r"port (\d+) (up|down), ([a-z ]+): (\d+) flits, (\d+) bytes")
    titles = browser.evaluate("[...document.querySelectorAll('#bytes title')].map((t) => t.textContent)")
    found = [list(column.fullmatch(t).groups()) for t in titles]
    wanted = [[str(p["port"]), d, words, str(p[d][c]), str(p[d][c] * root["params"]["flit_bytes"])]
              for s in root["systems"] for p in s["ports"] for d in DIRECTIONS
              for c, words in CLASSES.items() if p[d][c]]
    if sorted(found) != sorted(wanted):
        fail("the columns of the ports do not say what the JSON does")


def area(path):
    """Mean height of an area over its line, and where it ends."""
    line, at, height, sum_ = float(re.match(r"M0 ([\d.]+)", path)[1]), 0, 0, 0
    for letter, value in re.findall(r"([VH])([\d.]+)", path):
        if letter == "V":
            height = abs(float(value) - line)
        else:
            sum_ += (float(value) - at) * height
            at = float(value)
    return sum_ / at if at else 0, at


def check_links(browser, root):
    """Each panel has an area for each link and two for the mean; the mean's is as large as the use of the links."""
    gpus = root["params"]["gpus"]
    shown = [(s, layers_of(s)[0]) for s in root["systems"] if "series" in layers_of(s)[0]]
    panels = browser.evaluate("""[...document.querySelectorAll('#links > .panels figure')].map((f) =>
        ({caption: f.querySelector('figcaption').textContent,
          paths: [...f.querySelectorAll('path')].map((p) => p.getAttribute('d'))}))""")
    if len(panels) != len(shown):
        fail(f"{len(panels)} panels of links, not {len(shown)}")
    most = max([1] + [layer["cycles"] for s in root["systems"] for layer in layers_of(s) if "series" in layer])
    half = 2 * (5 if gpus > 16 else 7 if gpus > 8 else 11)
    for panel, (s, layer) in zip(panels, shown):
        if len(panel["paths"]) != 2 * (gpus + 1) or s["system"] not in panel["caption"]:
            fail(f"{panel['caption']}: {len(panel['paths'])} areas of {gpus} ports")
        for path, direction in zip(panel["paths"], DIRECTIONS):
            mean, end = area(path)
            flits = sum(sum(port[direction]) for port in layer["series"]["ports"])
            use = flits * root["params"]["link_cycles"] / layer["cycles"] / gpus
            if abs(end - 1000 * layer["cycles"] / most) > 0.1 or abs(mean / half - use) > 0.02 and gpus < 32:
                fail(f"{panel['caption']}, {direction}: an area of {mean / half} up to {end}, not of {use}")


def bin_end(start):
    return start + (1 if start < 8 else 1 << (start.bit_length() - 3))


def check_latency(browser, root):
    """A line a system, and the figures of all its ports and layers together."""
    lines = browser.evaluate("document.querySelectorAll('#latency path.line').length")
    rows = browser.evaluate("[...document.querySelectorAll('#latency .scroll:not(details *) tbody tr')].map((r) => "
                            "[...r.cells].map((c) => c.textContent))")
    named = {row[0]: [int(number(cell)) for cell in row[1:]] for row in rows}
    for s in root["systems"]:
        bins = {}
        for layer in counted_of(root, s):
            for port in layer.get("latency", []):
                for start, packets in port["bins"]:
                    bins[start] = bins.get(start, 0) + packets
        total, want = sum(bins.values()), []
        for share in 0.5, 0.99, 0.999, 1:
            left = share * total
            for start in sorted(bins):
                left -= bins[start]
                if left <= 1e-9:
                    want.append(bin_end(start) - 1)
                    break
        if bins and named.get(s["system"]) != [total, *want]:
            fail(f"{s['system']}: latencies {named.get(s['system'])}, not {[total, *want]}")
        lines -= bool(bins)
    if lines:
        fail("not a line for each system's latencies")


def check_stalls(browser, root):
    texts = browser.evaluate("[...document.querySelectorAll('#stalls .stall')].map((s) => "
                             "[s.querySelector('b').textContent, s.querySelector('span').textContent, "
                             "[...s.querySelectorAll('text')].map((t) => t.textContent)])")
    causes = {c for s in root["systems"] for c, cycles in s["stalls"].items() if cycles}
    if {cause for cause, _, _ in texts} != causes or not all(meaning for _, meaning, _ in texts):
        fail(f"stalls of {texts}, not of {causes}")
    for cause, _, cycles in texts:
        if [number(c) for c in cycles] != [s["stalls"][cause] for s in root["systems"]]:
            fail(f"{cause}: {cycles}")


def check_charts(browser, root):
    for check in check_compare, check_parts, check_columns, check_links, check_latency, check_stalls:
        check(browser, root)


# ---- how it looks, and whether it can be used ----------------------------------------------------


def check_access(browser, root):
    """Charts say what they show, tables have captions and as many columns as heads, and the keyboard reaches all."""
    problems = browser.evaluate("""(() => {
        const found = [], ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
        if (new Set(ids).size !== ids.length) found.push('an id is there twice');
        for (const s of document.querySelectorAll('section:not([hidden])'))
            if (!s.querySelector(':scope > h2').textContent ||
                s.getAttribute('aria-labelledby') !== s.querySelector('h2').id ||
                !document.querySelector(`nav a[href="#${s.id}"]`)) found.push('a section without a title: ' + s.id);
        for (const e of document.querySelectorAll('svg'))
            if (!e.parentElement.closest('svg') && e.getAttribute('aria-hidden') !== 'true' &&
                !(e.getAttribute('role') === 'img' && e.getAttribute('aria-label')))
                found.push('a chart without words: ' + e.outerHTML.slice(0, 99));
        for (const t of document.querySelectorAll('table')) {
            const heads = t.tHead.rows[0].cells.length;
            if (!t.caption && !t.closest('#compare, #bounds') || [...t.tBodies[0].rows].some((r) =>
                    [...r.cells].reduce((n, c) => n + c.colSpan, 0) !== heads))
                found.push('a table without a caption, or with rows unlike its head: ' + t.caption?.textContent);
        }
        for (const e of document.querySelectorAll('summary, a[href], .scroll, #links figure svg[role]'))
            if (e.tabIndex < 0 && !(e instanceof SVGElement && e.getAttribute('tabindex') === '0'))
                found.push('the keyboard does not reach ' + e.outerHTML.slice(0, 99));
        return found;
    })()""")
    if problems:
        fail(problems[0])
    series = layers_of(root["systems"][0])[0].get("series")
    if not series:
        return
    browser.evaluate("document.querySelector('#bounds summary:last-of-type').focus()")
    for _ in range(40):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.matches('#links figure svg[role]')"):
            break
    before = browser.evaluate("document.querySelector('#links output').textContent")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    after = browser.evaluate("document.querySelector('#links output').textContent")
    expected = f"cycle {series['interval'] if series['samples'] > 1 else 0:,}: up ".replace(",", GROUP)
    if not before.startswith("mean use: up ") or not after.startswith(expected):
        fail(f"the arrow keys show {after!r} in place of {before!r}")


def check_look(browser, root):
    """Each system has a colour of its own, on light screens and dark ones; paper is light."""
    script = """[getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('section')).backgroundColor,
        [...document.querySelectorAll('#compare tbody rect')].map((r) => getComputedStyle(r).fill),
        getComputedStyle(document.querySelector('section p')).color]"""
    looks = {}
    for media, scheme in ("", "light"), ("", "dark"), ("print", "dark"):
        browser.media(media, scheme)
        looks[media or scheme] = browser.evaluate(script)
    browser.media()
    level = {name: [sum(map(int, re.findall(r"\d+", look[k])[:3])) for k in (1, 3)] for name, look in looks.items()}
    if not (level["light"][0] > 600 > 300 > level["light"][1] and level["dark"][0] < 200 < 300 < level["dark"][1] and
            level["print"] == level["light"]):
        fail(f"light and dark: {looks}")
    for name, (_, ground, colours, _) in looks.items():
        if len(set(colours)) != len(root["systems"]) or ground in colours or "rgb(0, 0, 0)" in colours:
            fail(f"{name}: colours of the systems: {colours}")


def check_widths(browser):
    """Nothing is wider than the window, all tables open, and only tables scroll."""
    for width in 1280, 360:
        browser.size(width)
        wide = browser.evaluate("""(() => {
            const page = document.documentElement, found = page.scrollWidth > page.clientWidth ? ['the page'] : [];
            const shown = 'section:not([hidden]) > *:not(details), header *, figure, .scroll';
            for (const e of document.querySelectorAll(shown))
                if (e.getBoundingClientRect().right > page.clientWidth) found.push(e.outerHTML.slice(0, 120));
            return found;
        })()""")
        if wide:
            fail(f"wider than a window of {width} pixels: {wide[0]}")
    browser.size(1280)
