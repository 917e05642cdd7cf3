// SPDX-License-Identifier: Apache-2.0
// The charts, each an SVG element as wide as its place. `most` is where a scale ends, the same in all panels of a chart.

// ---- cycles and bounds of a system ----

function cyclesBar(i, most) {
    const s = systems[i], limit = partOf(i, "limit");
    const mark = (name, cycles) => {
        const x = share(100 * cycles / most);
        return svg("line", {class: name, x1: x, x2: x, y1: 1, y2: 27});
    };
    const text = `${s.system}: ${s.cycles} cycles; strict bound ${s.strict_bound_cycles} (${s.strict_bound_at}), ` +
        `own bound ${s.own_bound_cycles} (${s.own_bound_at}), limit ${limit.cycles} (${limit.at})`;
    return chart(28, text, svg("title", {}, text),
        svg("rect", {class: colour(i), x: 0, y: 4, width: share(100 * s.cycles / most), height: 20, rx: 2}),
        mark("strict", s.strict_bound_cycles), mark("own", s.own_bound_cycles),
        limit.cycles === s.own_bound_cycles ? null : mark("limit", limit.cycles));
}

function shareBar(value, marked, text) {
    return chart(14, text, svg("title", {}, text),
        svg("rect", {class: "ground", x: 0, y: 1, width: "100%", height: 12, rx: 2}),
        svg("rect", {class: marked ? "marked" : "part", x: 0, y: 1, width: share(100 * Math.min(1, value)), height: 12, rx: 2}));
}

// ---- use of the links over time ----

// The area of a direction: up grows upwards from the line, down downwards.
function useArea(list, interval, cycles, most, middle, half, direction) {
    const sign = direction === "up" ? -1 : 1;
    let path = `M0 ${middle}`;
    list.forEach((use, i) => {
        path += `V${(middle + sign * half * use).toFixed(1)}H${(1000 * Math.min(cycles, (i + 1) * interval) / most).toFixed(1)}`;
    });
    return svg("path", {class: direction, d: `${path}V${middle}Z`});
}

// Reads a panel's values at a sample: by the pointer, or by the arrow keys.
function readPanel(panel, line, layer, most, say) {
    const {interval, samples} = layer.figures.series, cycles = layer.figures.cycles;
    const list = DIRECTIONS.map((direction) => range(gpus).map((port) => uses(layer, port, direction)));
    const mean = DIRECTIONS.map((direction) => meanUses(layer, direction));
    let sample = -1;
    const show = (wanted) => {
        sample = Math.max(0, Math.min(samples - 1, wanted));
        const x = 1000 * Math.min(cycles, (sample + 0.5) * interval) / most;
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        line.setAttribute("class", "cursor");
        say.textContent = `cycle ${digits(sample * interval)}: ` + DIRECTIONS.map((direction, d) => {
            const now = list[d].map((port) => port[sample]), high = Math.max(...now);
            return `${direction} ${percent(mean[d][sample])}, port ${now.indexOf(high)} ${percent(high)}`;
        }).join("; ");
    };
    panel.addEventListener("pointermove", (event) => {
        const box = panel.getBoundingClientRect();
        show(Math.floor((event.clientX - box.left) / box.width * most / interval));
    });
    panel.addEventListener("keydown", (event) => {
        const move = {ArrowLeft: sample - 1, ArrowRight: sample + 1, Home: 0, End: samples - 1}[event.key];
        if (move === undefined)
            return;
        event.preventDefault();
        show(move);
    });
}

// The mean of all ports on top, and each port below it.
function linkPanel(i, layer, most) {
    const {series, cycles} = layer.figures, s = systems[i];
    const half = gpus > 16 ? 5 : gpus > 8 ? 7 : 11, row = 2 * half + 2, top = 2 * row + 6, height = top + gpus * row;
    const every = Math.ceil(12 / row), areas = [], names = [label(0, row + 4, "mean")];
    for (const direction of DIRECTIONS)
        areas.push(useArea(meanUses(layer, direction), series.interval, cycles, most, row, row - 2, direction));
    for (const port of range(gpus)) {
        const middle = top + port * row + row / 2;
        for (const direction of DIRECTIONS)
            areas.push(useArea(uses(layer, port, direction), series.interval, cycles, most, middle, half, direction));
        if (port % every === 0)
            names.push(label(0, middle + 4, `port ${port}`));
    }
    const line = svg("line", {class: "unseen", x1: 0, x2: 0, y1: 0, y2: height});
    const text = `${s.system}, ${layer.name}: use of uplinks and downlinks over ${cycles} cycles`;
    const panel = chart(height, text, stretched(height,
        svg("rect", {class: "ground", x: 0, y: 0, width: 1000 * cycles / most, height}), areas, line));
    panel.setAttribute("tabindex", 0);
    const say = el("output", {}, `mean use: up ${percent(s.up.use_mean)}, down ${percent(s.down.use_mean)}`);
    readPanel(panel, line, layer, most, say);
    return el("figure", {class: "links"},
        el("figcaption", {}, swatch(colour(i)), `${s.system}, ${layer.name}: ${digits(cycles)} cycles, ` +
            `${series.interval} a sample${series.lost ? ", some samples were lost" : ""}`),
        el("div", {class: "ports"}, chart(height, null, names), panel, el("span"), axis(most)), say);
}

// ---- bytes of the ports ----

// From the line on.
const CLASSES = [["store", "stores"], ["partial", "partial sums and results"], ["request", "reduction requests"],
                 ["ctrl", "control"]];
const wireBytes = (port, direction) => params.flit_bytes * total(CLASSES.map(([key]) => port[direction][key]));

function bytePanel(i, most) {
    const HALF = 84, middle = HALF + 8, height = 2 * middle + 16, width = 100 / gpus, every = Math.ceil(gpus / 8);
    const s = systems[i], parts = [], scale = [], step = 1024 * stepOf(most / 1024, 3);
    for (let bytes = 0; bytes <= most; bytes += step)
        for (const sign of bytes ? [-1, 1] : [-1]) {
            const y = middle + sign * HALF * bytes / most;
            scale.push(label("100%", y + 4, tick(bytes / 1024) + (bytes ? " KiB" : ""), "end"));
            parts.push(svg("line", {class: "grid", x1: 0, x2: "100%", y1: y, y2: y}));
        }
    for (const {port, ...link} of s.ports) {
        const x = width * (port + 0.14);
        for (const direction of DIRECTIONS) {
            const sign = direction === "up" ? -1 : 1;
            let from = 0;
            for (const [key, words] of CLASSES.filter(([key]) => link[direction][key])) {
                const bytes = link[direction][key] * params.flit_bytes, size = HALF * bytes / most;
                const text = `port ${port} ${direction}, ${words}: ${link[direction][key]} flits, ${bytes} bytes`;
                parts.push(svg("rect", {class: key, x: share(x), y: sign < 0 ? middle - from - size : middle + from,
                                        width: share(0.72 * width), height: size}, svg("title", {}, text)));
                from += size;
            }
            const y = middle + sign * HALF * link[direction].payload_bytes / most;
            parts.push(svg("line", {class: "payload", x1: share(x - 0.05 * width), x2: share(x + 0.77 * width), y1: y, y2: y}));
        }
        if (port % every === 0)
            parts.push(label(share(width * (port + 0.5)), height - 4, (port ? "" : "port ") + port, "middle"));
    }
    parts.push(svg("line", {class: "zero", x1: 0, x2: "100%", y1: middle, y2: middle}));
    const text = s.system + DIRECTIONS.map((direction) => `, ${direction}: mean ${Math.round(s[direction].wire_bytes_mean)}, ` +
        `busiest port ${s[direction].wire_bytes_max} bytes`).join("");
    return el("figure", {}, el("figcaption", {}, swatch(colour(i)), s.system),
              el("div", {class: "scaled"}, chart(height, null, scale), chart(height, text, parts)));
}

// ---- latencies ----

// The share of the packets that takes longer than so many cycles, a line a system; both axes are logarithmic, so that
// the tail shows.
function latencyChart(bins) {
    const HEIGHT = 240, FOOT = 20, top = most(bins.map((list) => list.length ? binEnd(list.at(-1)[0]) : 0), 2);
    const doublings = Math.ceil(Math.log2(top)), decades = Math.ceil(Math.log10(most(bins.map(packetsOf), 10)));
    const x = (cycles, width) => width * Math.log2(Math.max(1, cycles)) / doublings;
    const y = (part) => -HEIGHT * Math.log10(part) / decades;
    const grid = [], shares = [];
    for (let e = 0; e < doublings; e += doublings > 9 ? 2 : 1) {
        const left = share(x(2 ** e, 100));
        grid.push(svg("line", {class: "grid", x1: left, x2: left, y1: 0, y2: HEIGHT}),
                  label(left, HEIGHT + 14, digits(2 ** e) + (e ? "" : " cycle"), e ? "middle" : "start"));
    }
    for (let d = 0; d <= decades; d++) {
        const line = y(10 ** -d);
        grid.push(svg("line", {class: "grid", x1: 0, x2: "100%", y1: line, y2: line}));
        if (d < decades)
            shares.push(label("100%", line + (d ? 4 : 9), Number((100 * 10 ** -d).toPrecision(1)) + " %", "end"));
    }
    const lines = bins.map((list, i) => {
        let left = packetsOf(list), path = "M0 0";
        const all = left;
        for (const [from, packets] of list) {
            left -= packets;
            path += `H${x(binEnd(from), 1000).toFixed(1)}V${(left ? y(left / all) : HEIGHT).toFixed(1)}`;
        }
        return all ? svg("path", {class: "line " + colour(i), d: path}, svg("title", {}, systems[i].system)) : null;
    });
    const text = "Share of the packets that take longer than so many cycles, a line a system";
    return el("div", {class: "scaled"}, chart(HEIGHT + FOOT, null, shares),
              chart(HEIGHT + FOOT, text, grid, stretched(HEIGHT, lines)));
}

// ---- stalls, routing ----

function stallBars(cause, most) {
    const BAR = 15, WIDEST = 84; // percent: behind a bar is its figure
    const parts = systems.flatMap((s, i) => {
        const width = WIDEST * s.stalls[cause] / most;
        return [svg("rect", {class: colour(i), x: 0, y: BAR * i + 2, width: share(width), height: BAR - 4},
                    svg("title", {}, `${s.system}: ${s.stalls[cause]}`)),
                svg("text", {x: share(width), dx: 4, y: BAR * i + 11}, digits(s.stalls[cause]))];
    });
    return chart(BAR * systems.length, `${cause}: ` + systems.map((s) => `${s.system} ${s.stalls[cause]}`).join(", "), parts);
}

function routingPanel(layer, most) {
    const HEIGHT = 96, FOOT = 18, every = Math.ceil(gpus / 8), rows = layer.expert_rows, parts = [];
    const busiest = rows.indexOf(Math.max(...rows));
    rows.forEach((value, gpu) => {
        const size = (HEIGHT - 14) * value / most, middle = share(100 * (gpu + 0.5) / gpus);
        const text = `GPU ${gpu}: ${value} rows, ${layer.hub_additions[gpu]} additions of rows in its hub`;
        parts.push(svg("rect", {class: gpu === busiest ? "marked" : "part", x: share(100 * (gpu + 0.14) / gpus), y: HEIGHT - size,
                                width: share(72 / gpus), height: size}, svg("title", {}, text)));
        if (every === 1)
            parts.push(label(middle, HEIGHT - size - 3, digits(value), "middle"));
        if (gpu % every === 0)
            parts.push(label(middle, HEIGHT + 14, (gpu ? "" : "GPU ") + gpu, "middle"));
    });
    return el("figure", {}, el("figcaption", {}, `layer ${passNamed(layer)}: ${decimal(layer.remote_gpus_per_token, 3)} remote GPUs ` +
        `per token, ${percent(layer.home_share)} of tokens with an expert at home`),
        chart(HEIGHT + FOOT, `Rows of each expert engine, most on engine ${busiest}: ${rows[busiest]}`, parts));
}
