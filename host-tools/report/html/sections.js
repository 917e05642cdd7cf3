// SPDX-License-Identifier: Apache-2.0
// The sections with charts, and the tables of their figures. Each returns what it adds to its section; nothing: the run
// has no such figures, and the section is left out.

const LINES = [["strict", "strict bound"], ["own", "own bound"], ["limit", "limit, where it differs"]];
const lineLegend = () => el("ul", {class: "legend"}, LINES.map(([name, text]) =>
    el("li", {}, svg("svg", {width: 12, height: 14, "aria-hidden": "true"}, svg("line", {class: name, x1: 6, x2: 6, y1: 0, y2: 14})), text)));
const PARTS = ["adder", "engine", "banks", "limit"];
const share1 = (pointer) => figure(pointer, percent);
// What a run on a machine (--hardware) has of each system.
const MACHINE = params.hardware ? [["us", "µs"], ["algorithm_gbytes_per_s", "algorithm GB/s"], ["bus_gbytes_per_s", "bus GB/s"]] : [];
// Of systems that run phase after phase.
const PHASE_TIMES = [["dispatch_us", "dispatch, µs"], ["expert_us", "experts, µs"], ["combine_us", "combine, µs"],
    ["dispatch_gbytes_per_s", "dispatch, GB/s"], ["combine_gbytes_per_s", "combine, GB/s"]];

function machine() {
    const planes = systems[0].planes?.cycles.length;
    return [params.hardware && figures("phases of each system, of those that run phase after phase",
                ["system", ...PHASE_TIMES.map(([, head]) => head)],
                () => systems.map((s, i) => [s.system, PHASE_TIMES.map(([key]) => figure(`${system(i)}/${key}`, times))])),
            planes && figures("cycles of each plane", ["system", "slowest", ...range(planes).map((p) => `plane ${p}`)],
                () => systems.map((s, i) => [s.system, figure(`${system(i)}/planes/slowest`),
                    range(planes).map((p) => figure(`${system(i)}/planes/cycles/${p}`))]))].filter(Boolean);
}

function compare() {
    const cycles = most(systems.flatMap((s, i) => [s.cycles, s.strict_bound_cycles, s.own_bound_cycles, partOf(i, "limit").cycles]));
    const best = fastest(), over = systems[0].speedup_over;
    const heads = ["system", "cycles and bounds", "cycles", over ? `times as fast as ${over}` : "speed-up", "of strict bound",
        ...MACHINE.map(([, head]) => head)];
    const rows = systems.map((s, i) => el("tr", {class: systems.length > 1 && i === best ? "best" : null},
        el("th", {scope: "row"}, swatch(colour(i)), s.system), el("td", {class: "chart"}, cyclesBar(i, cycles)),
        figure(`${system(i)}/cycles`), figure(`${system(i)}/speedup`, times), share1(`${system(i)}/strict_share`),
        MACHINE.map(([key]) => figure(`${system(i)}/${key}`, times))));
    return [lineLegend(), el("table", {class: "compare"},
        el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))), el("tbody", {}, rows)), ...machine()];
}

function bounds() {
    const columns = (i) => {
        const s = systems[i], of = (key) => partOf(i, key);
        return [["uplink", s.up.use_max], ["downlink", s.down.use_max],
                ...PARTS.slice(0, 3).map((key) => [key, of(key).cycles / s.cycles])];
    };
    const rows = systems.map((s, i) => {
        const list = columns(i), high = Math.max(...list.map(([, value]) => value));
        return el("tr", {}, el("th", {scope: "row"}, swatch(colour(i)), s.system), list.map(([name, value]) =>
            el("td", {class: "chart"}, shareBar(value, value === high, `${s.system}, busiest ${name}: ${percent(value)}`), percent(value))),
            cell(partOf(i, "limit").at));
    });
    const heads = ["system", "uplink", "downlink", "adder", "expert engine", "memory banks", "limit set by"];
    const own = ["cycles", "at"];
    return [el("table", {class: "parts"}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", {scope: "col"}, text)))),
               el("tbody", {}, rows)),
        figures("bounds of each system, all layers together",
            ["system", "strict bound, cycles", "<set by", "own bound, cycles", "share of it", "<set by", "of links alone, cycles", "<compared with"],
            () => systems.map((s, i) => [s.system, figure(`${system(i)}/strict_bound_cycles`), figure(`${system(i)}/strict_bound_at`),
                figure(`${system(i)}/own_bound_cycles`), share1(`${system(i)}/own_share`), figure(`${system(i)}/own_bound_at`),
                figure(`${system(i)}/own_link_bound_cycles`), figure(`${system(i)}/speedup_over`)])),
        figures("time of the busiest GPU\u2019s parts, all layers together",
            ["system", ...PARTS.flatMap((key) => [`${key}, cycles`, "<of"])],
            () => systems.map((s, i) => [s.system, PARTS.flatMap((key) => s[key]
                ? own.map((name) => figure(`${system(i)}/${key}/${name}`)) : own.map((name) => cell(partOf(i, key)[name])))]))];
}

function samples(i, layer) {
    const words = {up: "up, flits", down: "down, flits", wait_credit: "waiting for credit, cycles", wait_turn: "waiting for their turn, cycles"};
    const series = layer.figures.series, heads = ["port", ...range(series.samples).map((k) => String(k * series.interval))];
    const made = table(`flits, and cycles in which packets waited, in the ${series.interval} cycles from the one at the head of the column`,
        heads, range(gpus).flatMap((port) => Object.entries(words).map(([key, text]) =>
            [`${port} ${text}`, series.ports[port][key].map((value) => cell(value))])));
    made.querySelectorAll("tbody tr").forEach((row, k) =>
        row.setAttribute("data-json", `${layer.pointer}/series/ports/${Math.floor(k / 4)}/${Object.keys(words)[k % 4]}`));
    return made;
}

function links() {
    const list = monitored();
    if (!list.length)
        return [el("p", {}, "The ports of this device record nothing.")];
    const end = most(list.map(([, layer]) => layer.figures.cycles));
    const panels = (shown) => el("div", {class: "panels"}, shown.map(([i, layer]) => linkPanel(i, layer, end)));
    const groups = range(layersOf(0).length).map((l) => list.filter(([i, layer]) => layer.pointer === layersOf(i)[l].pointer));
    return [legend([["up", "uplink, above the line"], ["down", "downlink, below it"]]), panels(groups[0]),
        groups.slice(1).map((group) => folded("Charts: " + group[0][1].name, () => panels(group))),
        list.map(([i, layer]) => folded(`Figures: links under ${systems[i].system}, ${layer.name}`, () => samples(i, layer))),
        figures("samples", ["layer, system", "interval, cycles", "samples", "of them lost"], () => list.map(([i, layer]) =>
            [`${layer.number}, ${systems[i].system}`, ["interval", "samples", "lost"].map((key) => figure(`${layer.pointer}/series/${key}`))]))];
}

function bytes() {
    const end = most(systems.flatMap((s) => s.ports.flatMap((port) => DIRECTIONS.map((direction) => wireBytes(port, direction)))));
    const each = (make) => systems.flatMap((s, i) => make(s, i));
    return [legend(CLASSES), el("div", {class: "panels"}, systems.map((_, i) => bytePanel(i, end))),
        figures("bytes and use of the links, mean and busiest port",
            ["system and direction", "payload, mean bytes", "busiest", "on the wire, mean bytes", "busiest", "use, mean", "busiest"],
            () => each((s, i) => DIRECTIONS.map((direction) => {
                const place = `${system(i)}/${direction}`, round = (value) => decimal(value, 0);
                return [`${s.system} ${direction}`, figure(`${place}/payload_bytes_mean`, round), figure(`${place}/payload_bytes_max`),
                    figure(`${place}/wire_bytes_mean`, round), figure(`${place}/wire_bytes_max`), share1(`${place}/use_mean`), share1(`${place}/use_max`)];
            }))),
        figures("flits by class and payload of each port",
            ["system, port, direction", ...CLASSES.map(([, words]) => `${words}, flits`), "payload, bytes"],
            () => each((s, i) => s.ports.flatMap(({port}) => DIRECTIONS.map((direction) => [`${s.system}, port ${port} ${direction}`,
                [...CLASSES.map(([key]) => key), "payload_bytes"].map((key) => figure(`${system(i)}/ports/${port}/${direction}/${key}`))]))))];
}

function bins(layer) {
    const list = layer.figures.latency, all = new Map();
    list.forEach((port, p) => port.bins.forEach(([from], b) => all.set(from, [...(all.get(from) ?? []), [p, b]])));
    return table(`packets by cycles in the switch, ${layer.name}`, ["cycles", ...list.map((_, p) => `port ${p}`)],
        [...all].sort((a, b) => a[0] - b[0]).map(([from, places]) => {
            const bin = new Map(places);
            return [`${digits(from)} to ${digits(binEnd(from) - 1)}`, list.map((_, p) =>
                bin.has(p) ? figure(`${layer.pointer}/latency/${p}/bins/${bin.get(p)}/1`) : cell(0))];
        }));
}

function latency() {
    const list = monitored(), all = systems.map((_, i) => latenciesOf(i));
    if (!list.length)
        return [];
    const heads = ["packets", "50 %, cycles", "99 %, cycles", "99.9 %, cycles", "all, cycles"];
    return [systemLegend(), el("p", {class: "axis"}, "share of the packets that take longer"), latencyChart(all),
        table("Cycles in the switch that a share of the packets does not exceed, all ports together", ["system", ...heads],
            systems.map((s, i) => [s.system, cell(packetsOf(all[i])), [0.5, 0.99, 0.999, 1].map((part) => cell(latencyAt(all[i], part)))])),
        figures("latencies at each port", ["system, layer, port", ...heads], () => list.flatMap(([i, layer]) =>
            layer.figures.latency.map((_, port) => [`${systems[i].system}, ${layer.number}, port ${port}`,
                ["packets", "p50", "p99", "p99_9", "max"].map((key) => figure(`${layer.pointer}/latency/${port}/${key}`))]))),
        list.map(([i, layer]) => folded(`Figures: histogram of ${systems[i].system}, ${layer.name}`, () => bins(layer)))];
}

const MEANINGS = {
    uplink_idle: "cycles in which a GPU\u2019s uplink carried no flit",
    store_credit: "cycles in which a store waited at a GPU for a credit of the switch",
    no_partial: "cycles in which a GPU had no partial sum to send",
    ctrl_credit: "cycles in which a control packet waited at a GPU for a credit of the switch",
    switch_output: "cycles in which a copy waited in the switch for its output",
    switch_credit: "cycles in which a copy waited in the switch for a credit of the GPU",
    memory_bank: "accesses to a GPU\u2019s memory that a busy bank put off",
    engine_idle: "cycles in which an expert engine had no tile",
    engine_memory: "cycles in which an expert engine waited for memory",
};

function stalls() {
    const causes = Object.keys(systems[0].stalls), any = causes.filter((cause) => systems.some((s) => s.stalls[cause]));
    const none = causes.filter((cause) => !any.includes(cause)), end = most(systems.flatMap((s) => any.map((cause) => s.stalls[cause])));
    return [systemLegend(), any.map((cause) => el("div", {class: "stall"},
            el("div", {}, el("b", {}, cause), el("span", {}, MEANINGS[cause] ?? "")), stallBars(cause, end))),
        none.length ? el("p", {}, "In no system: " + none.join(", ") + ".") : null,
        figures("stalls, cycles summed over all GPUs and layers", ["system", ...causes],
            () => systems.map((s, i) => [s.system, causes.map((cause) => figure(`${system(i)}/stalls/${cause}`))])),
        figures("look-ups of the hubs\u2019 allocators", ["system", "found in the cache", "fetched from memory"],
            () => systems.map((s, i) => [s.system, ["hits", "misses"].map((key) => figure(`${system(i)}/allocator/${key}`))]))];
}
