// Read an MCAP file by the library of Foxglove and Lichtblick; print what is in it as JSON.
const fs = require("node:fs");
const { McapIndexedReader, McapStreamReader } = require("@mcap/core");
const { loadDecompressHandlers } = require("@mcap/support");

const text = (bytes) => Buffer.from(bytes).toString("utf8");

async function main() {
  const file = fs.readFileSync(process.argv[2]);
  const readable = {
    size: async () => BigInt(file.length),
    read: async (offset, length) => new Uint8Array(file.subarray(Number(offset), Number(offset + length))),
  };
  const decompressHandlers = await loadDecompressHandlers();
  const reader = await McapIndexedReader.Initialize({ readable, decompressHandlers });
  const topics = {};
  for (const channel of reader.channelsById.values()) {
    const schema = reader.schemasById.get(channel.schemaId);
    topics[channel.topic] = { name: schema.name, schema: JSON.parse(text(schema.data)), times: [], messages: [] };
  }
  for await (const message of reader.readMessages()) {
    const topic = topics[reader.channelsById.get(message.channelId).topic];
    topic.times.push(String(message.logTime));
    topic.messages.push(JSON.parse(text(message.data)));
  }
  const metadata = {};
  for await (const one of reader.readMetadata()) metadata[one.name] = Object.fromEntries(one.metadata);
  // from the first byte to the last, with the checksums of chunks and of the file
  const stream = new McapStreamReader({ decompressHandlers, validateCrcs: true });
  stream.append(new Uint8Array(file));
  const records = {};
  for (let record; (record = stream.nextRecord()); ) records[record.type] = (records[record.type] ?? 0) + 1;
  if (!stream.done()) throw new Error("the file has no end");
  console.log(JSON.stringify({ topics, metadata, count: Number(reader.statistics.messageCount), records }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
