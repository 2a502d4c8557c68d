// RUN: opt
// A region that begins like a dictionary, and dictionaries that begin like a region. Without `warps`
// a region has all warps of its block.
gpu.module @m attributes {cutlass.cluster_shape = array<i32: 2, 1, 1>} {
  gpu.func @operation() kernel {
    cutlass.async.exec {
      gpu.barrier
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @only_a_name() kernel {
    cutlass.async.exec { cutlass.async.yield }
    gpu.return
  }
  gpu.func @value(%n: i32) kernel {
    cutlass.async.exec {
      %0 = arith.addi %n, %n : i32
      "cutlass.async.yield"() : () -> ()
    }
    gpu.return
  }
  gpu.func @quoted() kernel {
    cutlass.async.exec {
      "gpu.barrier"() : () -> ()
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @block() kernel {
    cutlass.async.exec {
    ^entry:
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @attribute_behind() kernel {
    cutlass.async.exec { cutlass.async.yield } {warps = array<i32: 0, 1>}
    cutlass.async.exec { cutlass.async.yield } {unit, warps = array<i32: 1, 2>}
    gpu.return
  }
  gpu.func @empty_dictionary_behind() kernel {
    cutlass.async.exec { cutlass.async.yield } {}
    gpu.return
  }
  gpu.func @unit_behind() kernel {
    nv_tileas.async.exec { nv_tileas.async.yield } {unit}
    gpu.return
  }
  gpu.func @empty_dictionary() kernel {
    cutlass.async.exec {} { cutlass.async.yield }
    gpu.return
  }
  gpu.func @unit() kernel {
    cutlass.async.exec {gpu.barrier} { cutlass.async.yield }
    gpu.return
  }
  gpu.func @quoted_name() kernel {
    cutlass.async.exec {"unit name"} { cutlass.async.yield }
    gpu.return
  }
  gpu.func @two() kernel {
    cutlass.async.exec {a, warps = array<i32: 0, 4>} {
      cutlass.async.yield
    }
    gpu.return
  }
  gpu.func @other_name() kernel {
    nv_tileas.async.exec {
      nv_tileas.async.yield
    }
    gpu.return
  }
}
