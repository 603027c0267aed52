//! Apps_MASS3DEA: the mass matrices of finite elements. With indices i, j and k of three directions each,
//! `m[e][j][i] = sum over k of b[i1][k1] * b[j1][k1] * b[i2][k2] * b[j2][k2] * b[i3][k3] * b[j3][k3] * d[e][k]`.

use core::array::from_fn;

use ironsweep::prelude::*;

/// Rows of an element's matrix in each direction.
const ROWS: usize = 4;
/// Points in each direction that are added up.
const POINTS: usize = 5;
const BASIS: usize = ROWS * POINTS;
const WEIGHTS: usize = POINTS * POINTS * POINTS;
const COLUMN: usize = ROWS * ROWS * ROWS;

const fn elements(n: usize) -> usize {
    match (n + COLUMN * COLUMN / 2) / (COLUMN * COLUMN) {
        0 => 1,
        elements => elements,
    }
}

kernel! {
    fn apps_mass3dea(n) as struct Mass {
        b: Table<f64, 20> = constant(BASIS, 1.0).or_random(-1.0, 1.0),
        d: InGroup<f64, 125> = constant(WEIGHTS * elements(n), 1.0).or_random(-1.0, 1.0),
        m: OutGroup<f64, 64> = zeros(COLUMN * COLUMN * elements(n)),
    }
}

impl Kernel for Mass {
    const NAME: &'static str = "Apps_MASS3DEA";
    const DEFAULT_SIZE: usize = 512_000;
    const DEFAULT_REPS: usize = 1;
    const CHECKED: &'static [&'static str] = &["m"];
    /// A member for each i.
    const BLOCKS: &'static [usize] = &[COLUMN];

    fn actual_size(n: usize) -> usize {
        COLUMN * COLUMN * elements(n)
    }

    fn bytes(n: usize) -> Bytes {
        Bytes {
            read: 8 * (BASIS + WEIGHTS * elements(n)),
            written: 8 * COLUMN * COLUMN * elements(n),
            ..Bytes::default()
        }
    }

    fn flops(n: usize) -> usize {
        7 * COLUMN * COLUMN * elements(n)
    }

    fn repetition(n: usize, launcher: &mut impl Launcher) {
        launcher.launch::<Self>(elements(n));
    }
}

impl Launch for Mass {
    type At = Group<COLUMN, { BASIS + WEIGHTS }>;

    fn run(self, mut element: Group<COLUMN, { BASIS + WEIGHTS }>) {
        let Self { b, d, m } = self;
        let d = d.of(&element);
        let basis = element.stage::<BASIS>(|index| b[index]);
        let weights = element.stage::<WEIGHTS>(|index| d[index]);
        element.each(|member| {
            let i = member.index();
            let (i1, i2, i3) = (i % ROWS, i / ROWS % ROWS, i / (ROWS * ROWS) % ROWS);
            let product = |i, j, k| basis.get(member, k + POINTS * i) * basis.get(member, k + POINTS * j);
            // All j3 at once: what comes before them serves four entries of the matrix.
            let products_3: [[f64; ROWS]; POINTS] = from_fn(|k3| from_fn(|j3| product(i3, j3, k3)));
            for j2 in 0..ROWS {
                let products_2: [f64; POINTS] = from_fn(|k2| product(i2, j2, k2));
                for j1 in 0..ROWS {
                    let mut sums = [0.0; ROWS];
                    for k1 in 0..POINTS {
                        let product_1 = product(i1, j1, k1);
                        for (k2, product_2) in products_2.iter().enumerate() {
                            let product_12 = product_1 * product_2;
                            let row: [f64; POINTS] =
                                from_fn(|k3| weights.get(member, k1 + POINTS * (k2 + POINTS * k3)));
                            for (k3, products) in products_3.iter().enumerate() {
                                let weight = product_12 * row[k3];
                                for (sum, product_3) in sums.iter_mut().zip(products) {
                                    *sum += weight * product_3;
                                }
                            }
                        }
                    }
                    for (j3, sum) in sums.iter().enumerate() {
                        m.set(member, j1 + ROWS * (j2 + ROWS * j3), *sum);
                    }
                }
            }
        });
    }
}
