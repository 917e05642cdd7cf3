// SPDX-License-Identifier: Apache-2.0
// The head of the page, the sections that are tables, and what puts all of them in their places.

const fastest = () => systems.reduce((best, s, i) => s.cycles < systems[best].cycles ? i : best, 0);

// ---- the head ----

function chips() {
    const unit = (key, name, after = "") => params[key] === undefined || params[key] === null ? null :
        el("li", {}, name + " ", el("b", {}, digits(params[key])), after);
    return [unit("gpus", "GPUs"), unit("tokens_per_gpu", "tokens per GPU"), unit("rows", "rows"), unit("batches", "batches"),
        unit("hidden", "hidden", " values"), unit("experts", "experts"), unit("k", "k"),
        unit("tile", "tile", params.partial_tiles ? " rows or less" : " rows"),
        unit("expert_cycles", moe ? "expert" : "GEMM", " cycles per row"), unit("flit_bytes", "flit", " bytes"),
        unit("link_latency", "link latency", " cycles"), unit("seed", "seed")];
}

function verdict() {
    const sum = (key) => total(systems.map((s) => s[key]));
    const wrong = sum("wrong") + total(systems.map((s) => (s.feeding?.wrong ?? 0) + (s.stack?.wrong ?? 0)));
    const others = systems.some((s) => s.stack && (s.stack.other_cycles || s.stack.other_flits));
    const right = !wrong && !others && !sum("flit_errors") && !sum("below_bound"), place = byId("verdict");
    place.classList.add(right ? "good" : "bad");
    place.append(right ? "Every bit of the output equals the golden model\u2019s, and every flit counter the analytic list." :
        `Wrong: ${digits(wrong)} elements of the output differ from the golden model, ${digits(sum("flit_errors"))} counters ` +
        `from the analytic list, ${digits(sum("below_bound"))} layers took less than their bound` +
        (others ? ", and layers of a stack took other cycles or flits than by themselves." : "."));
}

function head() {
    const kind = !moe ? "tensor-parallel workload" : params.synthetic ? "synthetic routing" :
        params.weights === "1/k" ? "routing of a trace without gate weights, each taken as 1/k" : "routing of a trace";
    document.title = "moeswitch run: " + plain(moe ? params.trace : params.workload);
    byId("title").append(plain(moe ? params.model : params.workload), el("span", {}, kind));
    byId("trace").append(moe ? `${plain(params.trace)}, layer${params.layers.length > 1 ? "s" : ""} ${params.layers.join(", ")}`
                             : params.shape ? `shape of ${params.shape}` : "");
    byId("chips").append(...chips().filter(Boolean));
    byId("tool").append(data.tool);
    const best = fastest(), s = systems[best], faster = s.speedup && s.speedup_over !== s.system;
    byId("headline").append(el("b", {}, s.system), ` takes ${systems.length > 1 ? "the fewest cycles: " : ""}${digits(s.cycles)}` +
        (systems.length > 1 ? "" : " cycles") + (faster ? `, ${times(s.speedup)} times as fast as ${s.speedup_over}` : "") +
        `. It reaches ${percent(s.strict_share)} of the strict bound.`);
    verdict();
}

// ---- errors ----

function errors() {
    const first = (what, title) => {
        const found = everyLayer().filter(([, layer]) => layer.figures[what]);
        return found.length ? table(title, ["layer, system", ...Object.keys(found[0][1].figures[what])],
            found.map(([i, layer]) => [`${layer.number}, ${systems[i].system}`,
                Object.keys(layer.figures[what]).map((key) => figure(`${layer.pointer}/${what}/${key}`))])) : null;
    };
    return [table("Errors of each system", ["system", "elements wrong", "counters wrong", "layers below their bound"],
            systems.map((s, i) => [s.system, ["wrong", "flit_errors", "below_bound"].map((key) => figure(`${system(i)}/${key}`))])),
        first("first_wrong", "First element that differs from the golden model (values as bits of bf16)"),
        first("first_wrong_gradient", "First gradient of a gate weight that differs from the golden model (values as bits of fp32)")];
}

// ---- passes, batches, routing, layers ----

function passes() {
    const cycles = [["forward", "forward"], ["backward", "backward with the handle"], ["counted_again", "counted again"]];
    const speedups = [["forward", "forward"], ["backward", "backward"]], over = systems[0].speedup_over;
    const dw = [["made", "made"], ["wrong", "wrong"], ["uplink_flits", "flits on uplinks"], ["uplink_share", "of all flits there", percent]];
    const stack = ["layers", "cached", "layer_cycles", "idle_cycles", "wrong", "other_cycles", "other_flits"];
    const rows = (key, columns) => systems.map((s, i) => [s.system, columns.map(([name, , format]) =>
        figure(`${system(i)}/${key}/${name}`, format ?? null))]);
    return !params.pass ? [] : [
        table("Cycles of each pass", ["system", ...cycles.map(([, head]) => head)], rows("pass_cycles", cycles)),
        over ? table(`Times as fast as ${over}`, ["system", ...speedups.map(([, head]) => head)],
            rows("pass_speedup", speedups.map((column) => [...column, times]))) : null,
        systems[0].gate_gradients ? table("Gradients of gate weights (dw); flits in backward layers with the handle",
            ["system", ...dw.map(([, head]) => head)], rows("gate_gradients", dw)) : null,
        systems[0].stack ? table("All layers once more through the device\u2019s queue, forward and back",
            ["system", "layers", "with the handle of the forward layer", "in layers, cycles", "between them, cycles",
             "elements wrong", "layers of other cycles", "other flits"], rows("stack", stack.map((name) => [name]))) : null];
}

function feeding() {
    const list = systems.map((s, i) => [s, i]).filter(([s]) => s.feeding);
    const ways = [["apart", "one after the other"], ["fed", "fed"]];
    return !list.length ? [] : [table("Device time of all batches", ["system, way", "tokens per second", "device, cycles",
        "in layers, cycles", "between them, cycles", "clock, Hz", "elements wrong"],
        list.flatMap(([s, i]) => ways.map(([way, words]) => {
            const place = `${system(i)}/feeding`;
            return [`${s.system}, ${words}`, figure(`${place}/${way}/tokens_per_s`, (value) => decimal(value, 0)),
                ["device_cycles", "layer_cycles", "idle_cycles"].map((key) => figure(`${place}/${way}/${key}`)),
                figure(`${place}/clock_hz`), figure(`${place}/wrong`)];
        })))];
}

function routing() {
    const list = data.workload ?? [], end = most(list.flatMap((layer) => layer.expert_rows));
    return !list.length ? [] : [el("div", {class: "panels"}, list.map((layer) => routingPanel(layer, end))),
        figures("demand of each layer", ["layer, GPU", "rows of its engine", "additions of rows in its hub",
            "remote GPUs per token", "tokens with an expert at home"],
            () => list.flatMap((layer, l) => range(gpus).map((gpu) => [`${passNamed(layer)}, GPU ${gpu}`,
                figure(`/workload/${l}/expert_rows/${gpu}`), figure(`/workload/${l}/hub_additions/${gpu}`),
                figure(`/workload/${l}/remote_gpus_per_token`, times), share1(`/workload/${l}/home_share`)])))];
}

function layers() {
    if (!moe)
        return [];
    const all = everyLayer(), name = ([i, layer]) => `${layer.number}, ${systems[i].system}`;
    const kinds = [["strict_bound", "strict bound"], ["own_bound", "own bound"], ["own_link_bound", "own of links"],
                   ...PARTS.map((key) => [key, key])];
    const bound = (place) => ["cycles", "at"].map((key) => figure(`${place}/${key}`));
    const keyed = (title, heads, key, keys, list = all) => list.length ? figures(title, ["layer, system", ...heads], () =>
        list.map((entry) => [name(entry), keys.map((part) => figure(`${entry[1].pointer}/${key}/${part}`))])) : null;
    const causes = Object.keys(systems[0].stalls), merged = all.filter(([, layer]) => layer.figures.packet_manager);
    const phased = all.filter(([, layer]) => layer.figures.phases.length);
    return [figures("cycles and bounds of each layer",
            ["layer, system", "first token", "cycles", ...kinds.flatMap(([, words]) => [`${words}, cycles`, "<of"]), "elements wrong"],
            () => all.map((entry) => [name(entry), figure(`${entry[1].pointer}/first_token`), figure(`${entry[1].pointer}/cycles`),
                kinds.flatMap(([key]) => bound(`${entry[1].pointer}/${key}`)), figure(`${entry[1].pointer}/wrong`)])),
        phased.length ? figures("own bound of each phase, of systems that run phase after phase", ["layer, system, phase", "cycles", "<of"],
            () => phased.flatMap((entry) => entry[1].figures.phases.map(({phase}, p) =>
                [`${name(entry)}, ${phase}`, bound(`${entry[1].pointer}/phases/${p}/bound`)]))) : null,
        keyed("stalls of each layer, cycles", causes, "stalls", causes),
        keyed("look-ups of the hubs\u2019 allocators in each layer", ["found in the cache", "fetched from memory"], "allocator", ["hits", "misses"]),
        keyed("gradients of gate weights that each layer makes", ["made", "wrong"], "gate_gradients", ["made", "wrong"],
            all.filter(([, layer]) => layer.figures.gate_gradients)),
        keyed("packet managers in each layer", ["stores in", "packets out", "stores merged", "lines that left full", "lines that left by the timer"],
            "packet_manager", ["in", "out", "merged", "left_full", "left_by_timer"], merged)];
}

// ---- the run ----

const NAMES = {
    preset: "--model", weights: "gate weights", gpus: "GPUs", hidden: "hidden size, values",
    k: "experts per token (k)", sigma: "popularity, sigma", groups: "groups of experts, 0: none",
    topk_groups: "groups that a token has experts in, at most", tile: "tile, rows", expert_cycles: "expert, cycles per row",
    flit_bytes: "flit, bytes", link_latency: "link latency, cycles", link_cycles: "link, cycles per flit",
    in_flight: "tokens in flight per home, 0: no limit", open_rows: "open rows per home, 0: as the device has",
    allow_padding: "padding allowed", spread: "spread of the coefficients", jitter: "jitter, percent",
    expert_loads: "loads of experts", replicas: "replicas of experts", replica_choice: "choice among replicas",
    moeswitch_as_dysharp: "moeswitch sends what dysharp does", start_spread: "starts of the GPUs spread over, cycles",
};

// A row a parameter; those of a list or of the settings one each.
function parameterRows(place, value) {
    return Object.entries(value).flatMap(([key, item]) => {
        if (item === null)
            return [];
        if (typeof item === "object")
            return parameterRows(`${place}/${key}`, item);
        const name = place.endsWith("/layers") ? "layer" : place.endsWith("/settings") ? `--set ${key}` : NAMES[key] ?? key.replaceAll("_", " ");
        const real = typeof item === "number" && !Number.isInteger(item);
        return [[name, figure(`${place}/${key}`, real ? times : null)]];
    });
}

// ---- loads that the switch merges ----

const LOADS = [["loads", "loads"], ["fetches", "fetches from the home"], ["bypasses", "fetches past the table"],
    ["kept", "answered by kept rows"], ["evictions", "kept rows that lost their place"],
    ["merge_rate", "merged, of those possible", times], ["most_entries", "most entries of a port in use"],
    ["spread_mean", "first to last load of an entry (modulo 65 536), mean cycles", times], ["spread_most", "at most"]];

// ---- reds that the switch adds up ----

const SUMS = [["reds", "reds"], ["taken", "taken by the tables"], ["sums", "sums that left them"],
    ["parts", "without a red of every GPU"], ["saved_flits", "flits saved"],
    ["merge_rate", "added up, of those possible", times], ["most_entries", "most entries of a port in use"]];

// Counters that some systems have under the key.
function counters(key, title, columns) {
    const row = (s, i) => [s.system, ...columns.map(([name, , format]) => figure(`${system(i)}/${key}/${name}`, format ?? null))];
    return systems.some((s) => s[key]) ? figures(title, ["system", ...columns.map(([, head]) => head)],
        () => systems.flatMap((s, i) => s[key] ? [row(s, i)] : [])) : null;
}

function run() {
    const words = ["backend", "verilator", "compiler", "flags", "sources"], ranges = systems.some((s) => s.ranges !== undefined);
    return [figures("parameters of the run", ["parameter", "value"], () => parameterRows("/params", params)),
        ranges ? figures("ranges of rows that a system pipelines", ["system", "ranges"],
            () => systems.map((s, i) => [s.system, figure(`${system(i)}/ranges`)])) : null,
        counters("loads", "loads that the switch merges", LOADS),
        counters("sums", "reds that the switch adds up", SUMS),
        figures("what simulated it, and how fast", ["system", "simulated cycles", "seconds of wall clock", "cycles per second",
            "<backend", "<Verilator", "<compiler", "<flags and settings", "<sources, SHA-256"],
            () => systems.map((s, i) => [s.system, figure(`${system(i)}/simulated_cycles`),
                figure(`${system(i)}/seconds_wall`, (value) => decimal(value, 2)),
                figure(`${system(i)}/sim_cycles_per_s`, (value) => decimal(value, 0)),
                s.simulated_by ? words.map((key) => figure(`${system(i)}/simulated_by/${key}`))
                               : el("td", {class: "left", colspan: words.length}, "a device on USB")]))];
}

// ---- all of it ----

head();
for (const [id, make] of Object.entries({compare, passes, bounds, links, bytes, latency, stalls, errors, feeding, routing, layers, run})) {
    const section = byId(id), made = make().flat(Infinity).filter(Boolean);
    section.hidden = !made.length;
    section.append(...made);
    if (made.length)
        byId("sections").append(el("li", {}, el("a", {href: `#${id}`}, section.querySelector("h2").textContent)));
}
