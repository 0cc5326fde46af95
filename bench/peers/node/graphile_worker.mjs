// graphile-worker as its page on performance drives it: 24 jobs at once, a local queue of 500, completions in batches.
const TASK = "handle";

export async function connect(require, connectionString, queue) {
  const { Logger, makeWorkerUtils, run, runMigrations, runOnce } = require("graphile-worker");
  const worker = {
    connectionString,
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: new Logger(() => () => {}),
  };
  const options = { preset: { worker }, noHandleSignals: true };
  let utils;

  return {
    setUp: () => runMigrations(options),
    async openSender() {
      utils = await makeWorkerUtils(options);
      await utils.withPgClient((client) => client.query("SELECT 1"));
    },
    push: (data) => utils.addJob(TASK, data),
    pushMany: (all) => utils.addJobs(all.map((data) => ({ identifier: TASK, payload: data }))),
    async drainer(count, handle) {
      return () => runOnce(options, { [TASK]: async (data) => void handle(data) });
    },
    async worker(handle) {
      const runner = await run(options, { [TASK]: async (data) => void handle(data) });
      return () => runner.stop();
    },
    close: () => utils?.release(),
  };
}
