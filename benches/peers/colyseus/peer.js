// Colyseus: @colyseus/schema with a StateView for each connection. Reads a workload's script from standard input
// (its format is in world/src/script.rs) and prints one line of JSON.
//
//   node peer.js TICKS WARMUP SETTING < script          SETTING is plain or small

import { readFileSync } from "node:fs";
import { Decoder, Encoder, StateView, schema, t } from "@colyseus/schema";

const [ticks, warmup, setting] = [Number(process.argv[2]), Number(process.argv[3]), process.argv[4]];

// The script, word by word.
const bytes = readFileSync(0);
const script = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
let at = 0;
const word = () => script[at++];
const list = () => {
  const length = word();
  at += length;
  return script.subarray(at - length, at);
};
const [entities, connections, scripted, turning] = [word(), word(), word(), word() === 1];
if (scripted < ticks + warmup) throw new Error(`the script has ${scripted} ticks`);

const first = [];
for (let i = 0; i < entities; i++) first.push([word(), word(), word()]);

// Two bytes hold hundredths up to 655: enough for the smallest world, where they are the smallest setting.
const highest = Math.max(...first.map(([x, y]) => Math.max(x, y)));
const small = setting === "small" && highest <= 50000;
if (setting === "small" && !small) {
  console.log(JSON.stringify({ reason: "hundredths of this world do not fit two bytes; float32 is the smallest setting" }));
  process.exit(0);
}
const field = () => (small ? t.uint16() : t.float32());
const Mover = turning
  ? schema({ x: field(), y: field(), rotation: field() }, "Mover")
  : schema({ x: field(), y: field() }, "Mover");
const State = schema({ movers: t.map(Mover).view() }, "State");

const value = (hundredths) => (small ? hundredths : hundredths / 100);
const write = (mover, x, y, rotation) => {
  mover.x = value(x);
  mover.y = value(y);
  if (turning) mover.rotation = value(rotation);
};

Encoder.BUFFER_SIZE = 8 * 1024 * 1024;
const state = new State();
const encoder = new Encoder(state);
const movers = first.map(([x, y, rotation], i) => {
  const mover = new Mover();
  write(mover, x, y, rotation);
  state.movers.set(String(i), mover);
  return mover;
});
const views = [];
for (let i = 0; i < connections; i++) views.push(new StateView());

// Client ends of the sample decode everything.
const many = Math.min(16, connections);
const decoders = new Map();
for (let i = 0; i < many; i++) decoders.set(Math.floor((i * connections) / many), new Decoder(new State()));

// Joins: what each sees is added to its view, and each gets a full state.
encoder.discardChanges();
let joinBytes = 0;
let start = performance.now();
for (const view of views) for (const entity of list()) view.add(movers[entity]);
{
  const it = { offset: 0 };
  encoder.encodeAll(it);
  const shared = it.offset;
  for (let i = 0; i < connections; i++) {
    const full = encoder.encodeAllView(views[i], shared, it);
    joinBytes += full.length;
    decoders.get(i)?.decode(full);
  }
}
const joinTime = performance.now() - start;

const times = [];
let [sent, crossings, visible] = [0, 0, 0];
for (let tick = 0; tick < warmup + ticks; tick++) {
  const moving = word();
  for (let i = 0; i < moving; i++) write(movers[word()], word(), word(), word());
  const changes = [];
  for (let i = 0; i < connections; i++) changes.push([list(), list()]);

  const received = [];
  start = performance.now();
  for (let i = 0; i < connections; i++) {
    const [entered, left] = changes[i];
    for (const entity of left) views[i].remove(movers[entity]);
    for (const entity of entered) views[i].add(movers[entity]);
  }
  const it = { offset: 0 };
  encoder.encode(it);
  const shared = it.offset;
  let bytes = 0;
  for (let i = 0; i < connections; i++) {
    const update = encoder.encodeView(views[i], shared, it);
    bytes += update.length;
    if (decoders.has(i)) received.push([i, update]);
  }
  encoder.discardChanges();
  const took = performance.now() - start;

  for (const [i, update] of received) decoders.get(i).decode(update);
  if (tick < warmup) continue;
  times.push(took * 1000);
  sent += bytes;
  for (const [entered, left] of changes) crossings += entered.length + left.length;
}

// Each client end of the sample must hold what the script says, and nothing else.
const sampled = word();
for (let n = 0; n < sampled; n++) {
  const connection = word();
  const should = [...list()];
  visible += should.length;
  const held = decoders.get(connection).state.movers ?? new Map();
  const same = should.every((entity) => {
    const [own, theirs] = [movers[entity], held.get(String(entity))];
    return theirs && Math.fround(own.x) === theirs.x && Math.fround(own.y) === theirs.y
      && (!turning || Math.fround(own.rotation) === theirs.rotation);
  });
  if (!same || held.size !== should.length) {
    const reason = `a client end does not hold what it should: connection ${connection}, ${held.size} of ${should.length}`;
    console.log(JSON.stringify({ reason }));
    process.exit(0);
  }
}

times.sort((a, b) => a - b);
const tenths = (n) => Math.round(n * 10) / 10;
const percentile = (part) => tenths(times[Math.min(Math.floor(times.length * part), times.length - 1)]);
console.log(JSON.stringify({
  tick_us: percentile(0.5),
  tick_p99_us: percentile(0.99),
  bytes_per_client: tenths(sent / ticks / connections),
  rss_mb: tenths(process.resourceUsage().maxRSS / 1024),
  checked: sampled,
  join_us: tenths(joinTime * 1000),
  join_bytes_per_client: tenths(joinBytes / connections),
  visible: tenths(visible / sampled),
  crossings: Math.round((crossings / ticks / connections) * 1000) / 1000,
  ticks,
  settings: `a map of entities with .view(), a StateView for each connection; ${small ? "uint16 of hundredths" : "float32"}; the encoder keeps no client state, so nothing is acknowledged`,
}));
