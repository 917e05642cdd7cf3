// SPDX-License-Identifier: Apache-2.0
// The run: what `moeswitch run --json` writes, of MoE layers or of a tensor-parallel workload.

const data = JSON.parse(byId("data").textContent);
const params = data.params, systems = data.systems, gpus = params.gpus;
const moe = !params.workload;
const DIRECTIONS = ["up", "down"];

// What is at a place that a JSON Pointer names.
const at = (pointer) => pointer.split("/").slice(1).reduce((value, key) => value?.[key], data);
const system = (i) => `/systems/${i}`;
const colour = (i) => `s${i % 10}`;
const total = (list) => list.reduce((sum, value) => sum + value, 0);
const most = (list, least = 1) => list.reduce((high, value) => Math.max(high, value), least);
const range = (count) => Array.from({length: count}, (_, i) => i);
const systemLegend = () => legend(systems.map((s, i) => [colour(i), s.system]));

// A layer's number, with its pass where there are several.
const passNamed = (layer) => layer.layer + (layer.pass ? `, ${layer.pass}` : "");

// The layers of a system: where their figures are in the JSON, the figures, and a name. A tensor-parallel workload is
// one layer, whose figures are the system's.
function layersOf(i) {
    if (!systems[i].layers)
        return [{pointer: system(i), figures: systems[i], name: params.workload, number: params.workload}];
    return systems[i].layers.map((layer, l) => ({
        pointer: `${system(i)}/layers/${l}`, figures: layer, number: passNamed(layer),
        pass: layer.pass, name: `layer ${passNamed(layer)}` + (params.batches ? `, tokens from ${layer.first_token} on` : "")}));
}

// Every layer under every system, layers outside: [system, layer of layersOf].
const everyLayer = () =>
    range(layersOf(0).length).flatMap((l) => systems.map((_, i) => [i, layersOf(i)[l]]));
const monitored = () => everyLayer().filter(([, layer]) => layer.figures.series);

// Those whose cycles are the system's: of a run with several passes the forward and backward ones that are asked for.
const countedOf = (i) => layersOf(i).filter(({pass}) =>
    !pass || pass === "backward" || (pass === "forward" && params.pass !== "backward"));

// Cycles that the busiest part of a kind has work, all layers together, and which part it is.
function partOf(i, key) {
    const list = countedOf(i).map((layer) => layer.figures[key]);
    return {cycles: total(list.map((part) => part.cycles)),
            at: list.every((part) => part.at === list[0].at) ? list[0].at : "varies"};
}

// ---- links ----

// Share of a sample's cycles that the flits of one direction of a port take.
function uses(layer, port, direction) {
    const {interval, ports} = layer.figures.series, cycles = layer.figures.cycles;
    return ports[port][direction].map((flits, i) => {
        const time = Math.min(interval, cycles - i * interval);
        return time > 0 ? Math.min(1, flits * params.link_cycles / time) : 0;
    });
}

function meanUses(layer, direction) {
    const list = range(gpus).map((port) => uses(layer, port, direction));
    return list[0].map((_, i) => total(list.map((port) => port[i])) / gpus);
}

// ---- latencies ----

// The first latency above those of the bin that begins at `from` (bins: mw_histogram_from in moeswitch.h).
const binEnd = (from) => from + (from < 8 ? 1 : 2 ** (Math.floor(Math.log2(from)) - 2));

// Packets by latency at all ports in all layers that count: [[first latency of a bin, packets], ...] in order, or [].
function latenciesOf(i) {
    const bins = new Map();
    for (const layer of countedOf(i))
        for (const port of layer.figures.latency ?? [])
            for (const [from, packets] of port.bins)
                bins.set(from, (bins.get(from) ?? 0) + packets);
    return [...bins].sort((a, b) => a[0] - b[0]);
}

const packetsOf = (bins) => total(bins.map(([, packets]) => packets));

// Cycles that a share of the packets does not exceed: the upper end of a bin.
function latencyAt(bins, part) {
    let left = part * packetsOf(bins);
    for (const [from, packets] of bins)
        if ((left -= packets) <= 1e-9)
            return binEnd(from) - 1;
    return 0;
}
