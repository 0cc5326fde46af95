// Do one thing with one library: node serve.mjs FOLDER LIBRARY ACTION URL [ARGUMENT as JSON]
//
// Says "ready" once connected, waits for a line, does it, and answers with one line of JSON. Ends when nobody listens
// any more. FOLDER holds node_modules, because the packages are kept in the user's cache and not beside this file.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [folder, library, action, url, argument = "null"] = process.argv.slice(2);
const QUEUE = "bench";
const STOP = { stop: true };
const require = createRequire(`${folder}/package.json`);
const { connect } = await import(`./${library}.mjs`);

/** The same payloads as bench/messages.py. */
const payload = (number) => ({
  n: number,
  to: "+385 91 555 0123",
  text: "Your flight is delayed; please come to gate 12.",
});

/** Python's time.monotonic_ns() reads the same clock. */
const now = () => Number(process.hrtime.bigint());

const payloads = (first, last) => Array.from({ length: last - first }, (_, index) => payload(first + index));

// Each prepares outside the clock and returns what is timed.
const ACTIONS = {
  async set_up(peer) {
    return () => peer.setUp();
  },
  async one_by_one(peer, count) {
    const all = payloads(0, count);
    await peer.openSender();
    return async () => {
      for (const one of all) await peer.push(one);
    };
  },
  async in_calls(peer, { count, most }) {
    const calls = [];
    for (let first = 0; first < count; first += most) calls.push(payloads(first, Math.min(first + most, count)));
    await peer.openSender();
    return async () => {
      for (const call of calls) await peer.pushMany(call);
    };
  },
  async now_and_then(peer, waits) {
    await peer.openSender();
    return async () => {
      const pushed = [];
      for (const [number, seconds] of waits.entries()) {
        await sleep(seconds * 1000);
        pushed.push(now());
        await peer.push(payload(number));
      }
      await peer.push(STOP);
      return pushed;
    };
  },
  async drain(peer, count) {
    const seen = [];
    const run = await peer.drainer(count, (data) => seen.push(data.n));
    return async () => {
      await run();
      return seen;
    };
  },
  async note_times(peer) {
    const handled = {};
    let stop;
    const stopped = new Promise((resolve) => (stop = resolve));
    const close = await peer.worker((data) => {
      if (data.stop) stop();
      else handled[data.n] = now();
    });
    return async () => {
      await stopped;
      await close();
      return handled;
    };
  },
};

const lines = createInterface({ input: process.stdin });
const heard = new Promise((resolve) => lines.once("line", resolve));
lines.once("close", () => process.exit(0));
const peer = await connect(require, url, QUEUE);
const run = await ACTIONS[action](peer, JSON.parse(argument));
console.log("ready");
await heard;
const answer = JSON.stringify((await run()) ?? null);
await new Promise((resolve) => process.stdout.write(`${answer}\n`, resolve)); // a long one takes more than one write
await peer.close();
process.exit(0);
