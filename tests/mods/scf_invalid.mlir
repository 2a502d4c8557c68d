// RUN: invalid
func.func @f(%i: index, %a: i32) {
  // expected-error@+1 {{different number of region iter_args and yielded values: 1 != 0}}
  %0 = scf.for %j = %i to %i step %i iter_args(%x = %a) -> (i32) {
    gpu.barrier
    scf.yield
  }
  func.return
}

// -----

func.func @f(%i: index, %a: i32, %l: i64) {
  // expected-error@+1 {{0-th region iter_arg and 0-th yielded value have different type: 'i32' != 'i64'}}
  %0 = scf.for %j = %i to %i step %i iter_args(%x = %a) -> (i32) {
    scf.yield %l : i64
  }
  func.return
}

// -----

func.func @f(%c: i1, %a: i32) {
  // expected-error@+1 {{must have an else block if defining values}}
  %0 = scf.if %c -> (i32) {
    scf.yield %a : i32
  }
  func.return
}

// -----

func.func @f(%c: i1, %a: i32) {
  // expected-error@+1 {{expects the 'before' region to terminate with 'scf.condition'}}
  %0 = scf.while (%x = %a) : (i32) -> i32 {
    // expected-note@+1 {{terminator here}}
    scf.yield %x : i32
  } do {
  ^bb0(%y: i32):
    scf.yield %y : i32
  }
  func.return
}

// -----

func.func @f(%c: i1, %a: i32, %l: i64) {
  %0 = scf.while (%x = %a) : (i32) -> i32 {
    // expected-error@+1 {{hands on value #0 of type 'i64', but 'scf.while' expects 'i32'}}
    scf.condition(%c) %l : i64
  } do {
  ^bb0(%y: i32):
    // expected-error@+1 {{hands on 0 values, but 'scf.while' expects 1}}
    scf.yield
  }
  func.return
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{expects parent op to be one of 'scf.for, scf.if, scf.while'}}
  scf.yield
}

// -----

func.func @f(%i: index, %a: i32) {
  // expected-error@+1 {{requires operands #0 and #1 to have the same type}}
  "scf.for"(%i, %a, %i) ({
  ^bb0(%j: index):
    "scf.yield"() : () -> ()
  }) : (index, i32, index) -> ()
  func.return
}

// -----

func.func @f(%i: index, %a: i32) {
  // expected-error@+1 {{mismatch in number of loop-carried values and defined values}}
  %0 = scf.for %j = %i to %i step %i iter_args(%x = %a, %y = %a) -> (i32) {
    scf.yield %x : i32
  }
  func.return
}

// -----

func.func @f(%c: i1) {
  // expected-error@+1 {{expects regions to end with 'scf.yield', found 'llvm.unreachable'}}
  scf.if %c {
    // expected-note@+1 {{in custom textual format, the absence of terminator implies 'scf.yield'}}
    llvm.unreachable
  }
  func.return
}
