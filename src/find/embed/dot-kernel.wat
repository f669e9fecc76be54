;; Multiplies one vector with many, sixteen numbers at a time. build/bundles.ts compiles it; dot-kernel.ts loads it.
(module
  (import "host" "memory" (memory 1))

  ;; $query: 16-bit numbers. $row: packed vectors, each a head of 8 bytes (VECTOR_HEAD of archive/vectors.ts) and $width
  ;; 8-bit numbers. $width is a multiple of 16. Writes $count products of 32 bits to $out.
  (func (export "dot")
    (param $query i32) (param $row i32) (param $count i32) (param $out i32) (param $width i32)
    (local $at i32) (local $stop i32) (local $low v128) (local $high v128) (local $bytes v128)
    (block $done
      (loop $rows
        (br_if $done (i32.eqz (local.get $count)))
        (local.set $at (local.get $query))
        (local.set $row (i32.add (local.get $row) (i32.const 8)))
        (local.set $stop (i32.add (local.get $row) (local.get $width)))
        (local.set $low (v128.const i32x4 0 0 0 0))
        (local.set $high (v128.const i32x4 0 0 0 0))
        (loop $numbers
          ;; Rows follow each other directly, so nothing is aligned.
          (local.set $bytes (v128.load align=1 (local.get $row)))
          ;; Eight products of 16-bit numbers, added in pairs.
          (local.set $low
            (i32x4.add
              (local.get $low)
              (i32x4.dot_i16x8_s
                (i16x8.extend_low_i8x16_s (local.get $bytes))
                (v128.load align=1 (local.get $at)))))
          (local.set $high
            (i32x4.add
              (local.get $high)
              (i32x4.dot_i16x8_s
                (i16x8.extend_high_i8x16_s (local.get $bytes))
                (v128.load offset=16 align=1 (local.get $at)))))
          (local.set $at (i32.add (local.get $at) (i32.const 32)))
          (local.set $row (i32.add (local.get $row) (i32.const 16)))
          (br_if $numbers (i32.lt_u (local.get $row) (local.get $stop))))
        (local.set $low (i32x4.add (local.get $low) (local.get $high)))
        (i32.store
          (local.get $out)
          (i32.add
            (i32.add
              (i32.add (i32x4.extract_lane 0 (local.get $low)) (i32x4.extract_lane 1 (local.get $low)))
              (i32x4.extract_lane 2 (local.get $low)))
            (i32x4.extract_lane 3 (local.get $low))))
        (local.set $out (i32.add (local.get $out) (i32.const 4)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $rows)))))
