// Computes and copies on a GPU by way of Dawn (WebGPU on Vulkan), and prints the bytes of the result.
// Six submissions after an upload, each of which needs the one before: four dispatches and a copy to and from a texture.
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
// `allow_unsafe_apis` admits drivers on the CPU that Dawn does not list.
const gpu = create(['backend=vulkan', 'enable-dawn-features=allow_unsafe_apis']);
const adapter = await gpu.requestAdapter();
if (!adapter) {
  console.error('Dawn takes none of the Vulkan devices');
  process.exit(77);
}
const device = await adapter.requestDevice();
device.addEventListener('uncapturederror', (event) => {
  console.error(event.error.message);
  process.exit(1);
});

const width = 64, height = 16, bytes = width * height * 4; // rows of 256 bytes, as copies to textures want them
const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
const [first, second] = [0, 1].map(() => device.createBuffer({ size: bytes, usage }));
const texture = device.createTexture({
  size: [width, height], format: 'rgba8uint', usage: GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST,
});
const result = device.createBuffer({ size: bytes, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });

const module = device.createShaderModule({ code: `
  @group(0) @binding(0) var<storage, read> input : array<u32>;
  @group(0) @binding(1) var<storage, read_write> output : array<u32>;
  @compute @workgroup_size(64) fn scramble(@builtin(global_invocation_id) id : vec3u) {
    let other = input[(id.x * 7u + 3u) % ${width * height}u];
    output[id.x] = (input[id.x] * 1664525u + 1013904223u) ^ (other >> 3u);
  }` });
const pipeline = device.createComputePipeline({ layout: 'auto', compute: { module, entryPoint: 'scramble' } });

function submit(record) {
  const encoder = device.createCommandEncoder();
  record(encoder);
  device.queue.submit([encoder.finish()]);
}

function compute(from, to) {
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer: from } }, { binding: 1, resource: { buffer: to } }],
  });
  submit((encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(width * height / 64);
    pass.end();
  });
}

device.queue.writeBuffer(first, 0, Uint32Array.from({ length: width * height }, (_, i) => i * i));
for (let round = 0; round < 2; round++) {
  compute(first, second);
  compute(second, first);
}
const rows = (buffer) => ({ buffer, bytesPerRow: width * 4 });
submit((encoder) => encoder.copyBufferToTexture(rows(first), { texture }, [width, height]));
submit((encoder) => encoder.copyTextureToBuffer({ texture }, rows(result), [width, height]));
await result.mapAsync(GPUMapMode.READ);
for (const word of new Uint32Array(result.getMappedRange())) console.log(word.toString(16).padStart(8, '0'));
result.unmap();
device.destroy();
// Dawn's threads may still use the driver here: a process that exits at once crashed in 6 of 60 runs.
await new Promise((resolve) => setTimeout(resolve, 100));
