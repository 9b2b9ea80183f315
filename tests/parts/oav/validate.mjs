// Validates Swagger documents with their examples: node validate.mjs FILE… writes {FILE: [{code, message, at, …}]} to standard output.
// The validator asks the network for one schema that stands in a package of its own: it is given from there.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const oav = require('oav');
const shared = readFileSync(require.resolve('@autorest/schemas/example-schema.json'), 'utf8');

const load = oav.FileLoader.prototype.load;
oav.FileLoader.prototype.load = function (path) {
  if (path.endsWith('/autorest-schemas/example-schema.json')) return Promise.resolve(shared);
  return load.call(this, path);
};

const said = {};
for (const file of process.argv.slice(2)) {
  const semantic = new oav.SemanticValidator(file, null);
  await semantic.initialize();
  const { errors, warnings } = await semantic.validateSpec();
  const examples = new oav.NewModelValidator(file);
  await examples.initialize();
  await examples.validateOperations();
  said[file] = [...errors, ...warnings, ...examples.result].map((one) => ({
    code: one.code,
    message: one.message,
    operation: one.operationId,
    at: one.exampleJsonPath ?? one.schemaJsonPath ?? one.jsonPath,
    position: one.examplePosition ?? one.schemaPosition ?? one.position,
  }));
}
process.stdout.write(JSON.stringify(said, null, 2) + '\n');
