// pg-boss: batches of 1,000, fetched without a pause while they are full; LISTEN and NOTIFY wake an idle worker.
const BATCH = 1000;

export async function connect(require, connectionString, queue) {
  const { PgBoss } = require("pg-boss");
  const boss = new PgBoss({ connectionString, useListenNotify: true, schedule: false, supervise: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();

  const work = (handle) => {
    const options = { batchSize: BATCH, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    return boss.work(queue, options, async (jobs) => {
      for (const job of jobs) handle(job.data);
    });
  };

  return {
    setUp: () => boss.createQueue(queue, { notify: true, partition: true }),
    openSender: () => boss.getQueue(queue),
    push: (data) => boss.send(queue, data),
    pushMany: (all) => boss.insert(queue, all.map((data) => ({ data }))),
    async drainer(count, handle) {
      return () =>
        new Promise((resolve, reject) => {
          let left = count;
          const one = (data) => {
            handle(data);
            if (--left === 0) setImmediate(() => boss.offWork(queue, { wait: true }).then(resolve, reject));
          };
          work(one).catch(reject);
        });
    },
    async worker(handle) {
      await work(handle);
      return () => boss.offWork(queue, { wait: true });
    },
    close: () => boss.stop({ graceful: true }),
  };
}
