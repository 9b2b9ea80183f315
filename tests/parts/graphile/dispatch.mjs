// A well-known job queue on PostgreSQL, measured: `node dispatch.mjs URL JOBS CONCURRENCY SINGLES plain|batches`.
// One line of JSON: seconds for all jobs, and milliseconds from each single job's addition to its start on an idle queue.
import { Logger, makeWorkerUtils, run } from 'graphile-worker'

const [url, jobs, concurrency, singles, mode = 'plain'] = process.argv.slice(2)
// As its page on performance has them: jobs are fetched, and completions written, many at a time.
const batches = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
const modes = { plain: {}, batches }
if (!(mode in modes)) throw new Error(`plain or batches, not ${mode}`)
const logger = new Logger(() => () => {})
const utils = await makeWorkerUtils({ connectionString: url, logger })
await utils.migrate()
for (let at = 0; at < Number(jobs); at += 500) {
  const many = Array.from({ length: Math.min(500, Number(jobs) - at) }, (_, n) => ({ identifier: 'trivial', payload: { n: at + n } }))
  await utils.addJobs(many)
}
let left = Number(jobs)
let finished
const all = new Promise((resolve) => { finished = resolve })
// A job's end is told before it is written, so the time goes on until none is left in the table.
const written = async () => {
  for (;;) {
    const { rows } = await utils.withPgClient((client) => client.query('select 1 from graphile_worker.jobs limit 1'))
    if (rows.length === 0) return performance.now()
  }
}
let started = () => {}
const began = performance.now()
const runner = await run({
  connectionString: url,
  logger,
  concurrency: Number(concurrency),
  maxPoolSize: Number(concurrency) + 2,
  noHandleSignals: true,
  pollInterval: 10000,
  preset: { worker: modes[mode] },
  taskList: {
    trivial: async () => {},
    single: async () => started(performance.now()),
  },
})
runner.events.on('job:complete', () => { left -= 1; if (left === 0) finished() })
await all
const seconds = ((await written()) - began) / 1000
const latencies = []
for (let n = 0; n < Number(singles); n += 1) {
  await new Promise((resolve) => { setTimeout(resolve, 20) })
  const at = performance.now()
  const when = new Promise((resolve) => { started = resolve })
  await utils.addJob('single', { n })
  latencies.push((await when) - at)
}
await runner.stop()
await utils.release()
console.log(JSON.stringify({ seconds, latencies }))
