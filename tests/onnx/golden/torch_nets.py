"""Small PyTorch nets of the kinds that ONNX files hold, for make.py."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Recurrent(nn.Module):
    """Recurrent layers with a dense layer behind them."""

    def __init__(self, kind, **kwargs):
        super().__init__()
        self.cells = kind(3, 4, **kwargs)
        self.head = nn.Linear(4 * (2 if kwargs.get("bidirectional") else 1), 2)

    def forward(self, x):
        y, state = self.cells(x)
        return self.head(y), (state[0] if isinstance(state, tuple) else state)


class RecurrentFromState(nn.Module):
    """Recurrent layers with initial states."""

    def __init__(self, kind, **kwargs):
        super().__init__()
        self.cells = kind(3, 4, **kwargs)

    def forward(self, x, *states):
        y, after = self.cells(x, states if len(states) > 1 else states[0])
        return (y, *after) if isinstance(after, tuple) else (y, after)


class Attention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)


class EncoderDecoder(nn.Module):
    """Transformer with a causal mask."""

    def __init__(self):
        super().__init__()
        self.net = nn.Transformer(8, 2, 1, 1, 12, dropout=0.0, batch_first=True)

    def forward(self, source, target):
        n = target.shape[1]
        mask = torch.triu(torch.full((n, n), float("-inf")), 1)
        return self.net(source, target, tgt_mask=mask)


class EinsumAttention(nn.Module):
    """Attention as sums of products."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(6, 3 * 8, bias=False)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        weights = torch.einsum("bhid,bhjd->bhij", q, k).div(2.0).softmax(-1)
        return torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2)


class VisionTransformer(nn.Module):
    """Patches, a class token, and an encoder."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.places = nn.Parameter(torch.randn(1, 17, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class ShiftedWindows(nn.Module):
    """Windows of an image that are moved, as in Swin."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(16, 16)

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = torch.roll(x, (-2, -2), (1, 2))
        x = x.view(batch, height // 4, 4, width // 4, 4, channels).permute(0, 1, 3, 5, 2, 4)
        x = self.mix(x.reshape(-1, channels, 16))
        x = x.view(batch, height // 4, width // 4, channels, 4, 4).permute(0, 1, 4, 2, 5, 3)
        return torch.roll(x.reshape(batch, height, width, channels), (2, 2), (1, 2))


class Unet(nn.Module):
    """One level of a U-Net."""

    def __init__(self, transposed):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.middle = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, padding=1), nn.LeakyReLU(0.1))
        self.up = nn.ConvTranspose2d(6, 6, 2, 2) if transposed else None
        self.head = nn.Conv2d(10, 2, 1)

    def forward(self, x):
        wide = self.down(x)
        deep = self.middle(wide)
        if self.up is None:
            deep = F.interpolate(deep, scale_factor=2, mode="bilinear", align_corners=True)
        else:
            deep = self.up(deep)
            down, right = wide.shape[2] - deep.shape[2], wide.shape[3] - deep.shape[3]
            deep = F.pad(deep, [right // 2, right - right // 2, down // 2, down - down // 2])
        return torch.sigmoid(self.head(torch.cat([wide, deep], 1)))


class Yolo(nn.Module):
    """Boxes on a grid, for anchors."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, 3, 4, 1, bias=False), nn.BatchNorm2d(6), nn.SiLU())
        self.head = nn.Conv2d(6, 2 * 7, 1)
        self.register_buffer("anchors", torch.tensor([[10.0, 13.0], [33.0, 23.0]]))

    def forward(self, x):
        y = self.head(self.body(x))
        batch, _, height, width = y.shape
        y = y.view(batch, 2, 7, height, width).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.arange(height), torch.arange(width)
        rows, columns = torch.meshgrid(rows, columns, indexing="ij")
        grid = torch.stack((columns, rows), 2).float()
        xy = (y[..., 0:2] * 2 - 0.5 + grid) * 4
        wh = (y[..., 2:4] * 2) ** 2 * self.anchors.view(1, 2, 1, 1, 2)
        return torch.cat((xy, wh, y[..., 4:]), -1).view(batch, -1, 7)


class Ssd(nn.Module):
    """Boxes and classes of two feature maps."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU6())
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, 2, 1), nn.ReLU6())
        self.boxes = nn.ModuleList(nn.Conv2d(4, 2 * 4, 3, padding=1) for _ in range(2))
        self.classes = nn.ModuleList(nn.Conv2d(4, 2 * 3, 3, padding=1) for _ in range(2))

    def forward(self, x):
        maps = [self.first(x)]
        maps.append(self.second(maps[0]))
        boxes, classes = [], []
        for each, box, kind in zip(maps, self.boxes, self.classes):
            boxes.append(box(each).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4))
            classes.append(kind(each).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3))
        boxes = torch.cat(boxes, 1)
        center, size = boxes[..., :2] * 0.1, torch.exp(boxes[..., 2:] * 0.2).clamp(max=4.0)
        corners = torch.cat([center - size / 2, center + size / 2], -1)
        scores, best = F.softmax(torch.cat(classes, 1), -1).max(-1)
        return corners, scores, best


class Pyramid(nn.Module):
    """Feature pyramid, whose upper levels grow to the size of the lower ones."""

    def __init__(self):
        super().__init__()
        sizes = 3, 4, 6, 8
        self.body = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in zip(sizes, sizes[1:]))
        self.inner = nn.ModuleList(nn.Conv2d(n, 4, 1) for n in sizes[1:])
        self.outer = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in sizes[1:])

    def forward(self, x):
        levels = []
        for each in self.body:
            x = F.relu(each(x))
            levels.append(x)
        top = self.inner[2](levels[2])
        results = [self.outer[2](top)]
        for i in (1, 0):
            side = self.inner[i](levels[i])
            top = side + F.interpolate(top, size=side.shape[-2:], mode="nearest")
            results.append(self.outer[i](top))
        return (*results, F.max_pool2d(results[0], 1, 2))


class ConvLstm(nn.Module):
    """Convolutional LSTM over four steps."""

    def __init__(self):
        super().__init__()
        self.gates = nn.Conv2d(2 + 3, 4 * 3, 3, padding=1)

    def forward(self, x):
        h = torch.zeros(x.shape[0], 3, x.shape[3], x.shape[4])
        c = h
        for step in range(4):
            i, f, o, g = self.gates(torch.cat([x[:, step], h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class Wavenet(nn.Module):
    """Gated causal convolutions with growing dilation."""

    def __init__(self):
        super().__init__()
        self.start = nn.Conv1d(1, 4, 1)
        self.gated = nn.ModuleList(nn.Conv1d(4, 8, 2, dilation=2**i) for i in range(3))
        self.mixed = nn.ModuleList(nn.Conv1d(4, 4, 1) for _ in range(3))
        self.end = nn.Conv1d(4, 6, 1)

    def forward(self, x):
        x, skipped = self.start(x), 0
        for i, (gated, mixed) in enumerate(zip(self.gated, self.mixed)):
            y = F.glu(gated(F.pad(x, (2**i, 0))), 1)
            y = mixed(torch.tanh(y))
            skipped, x = skipped + y, x + y
        return self.end(F.elu(skipped))


class Norms(nn.Module):
    """Group, instance and layer normalization."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, padding=1)
        self.group, self.instance = nn.GroupNorm(3, 6), nn.InstanceNorm2d(6, affine=True)
        self.layer = nn.LayerNorm(6, eps=1e-3)
        for norm in (self.group, self.instance, self.layer):
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)

    def forward(self, x):
        x = F.hardswish(self.group(self.conv(x)))
        x = F.mish(self.instance(x))
        return self.layer(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class SqueezeExcite(nn.Module):
    """Inverted residual with squeeze and excitation, as in MobileNetV3."""

    def __init__(self):
        super().__init__()
        self.grow = nn.Sequential(nn.Conv2d(4, 8, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.depth = nn.Sequential(nn.Conv2d(8, 8, 5, 2, 2, groups=8, bias=False), nn.BatchNorm2d(8))
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.depth(self.grow(x))
        x = x * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        return self.head(x.mean((2, 3)))


class Adaptive(nn.Module):
    """Adaptive pooling to several sizes."""

    def forward(self, x):
        whole = [F.adaptive_avg_pool2d(x, 1).flatten(1), F.adaptive_max_pool2d(x, 1).flatten(1)]
        parts = [F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, (2, 4))]
        return torch.cat([*whole, *(part.flatten(1) for part in parts)], 1)


class Pools(nn.Module):
    """Poolings that round up, count padding or not, and overlap."""

    def forward(self, x):
        a = F.max_pool2d(x, 3, 2, 1, ceil_mode=True)
        b = F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
        c = F.avg_pool2d(x, (2, 3), (2, 1), (1, 1))
        return a, b, c, F.lp_pool2d(x.abs(), 2, 3, 2)


class TextClassifier(nn.Module):
    """Mean of embeddings, without those that a mask excludes."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 5), nn.Linear(5, 3)

    def forward(self, words, mask):
        weights = mask.unsqueeze(-1).float()
        total = (self.embedding(words) * weights).sum(1)
        return F.log_softmax(self.head(total / weights.sum(1).clamp(min=1.0)), -1)


class Places(nn.Module):
    """Gathering and scattering by indices."""

    def forward(self, x, places):
        taken = torch.gather(x, 1, places)
        put = torch.zeros_like(x).scatter(1, places, taken * 2)
        row = torch.index_select(x, 1, torch.tensor([2, 0]))
        values, order = torch.topk(x, 3, 1)
        return taken, put, row, values, order, x[:, [1, 3]] * 2


class Masks(nn.Module):
    """Comparisons and choices."""

    def forward(self, x, y):
        larger = (x > y) & ~(x.abs() < 0.3)
        chosen = torch.where(larger, x, y).masked_fill(x == 0, -1.0)
        return chosen, larger, torch.clamp(chosen, -0.5, 0.5), larger.float().cumsum(1)


class Volume(nn.Module):
    """Convolutions of volumes."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv3d(1, 3, 3, 1, 1), nn.BatchNorm3d(3), nn.PReLU(3), nn.AvgPool3d(2), nn.Conv3d(3, 2, 2)
        )

    def forward(self, x):
        return F.interpolate(self.body(x), scale_factor=2, mode="nearest").amax((2, 3, 4))


class Autoencoder(nn.Module):
    """Convolutions of a signal, and their transposes."""

    def __init__(self):
        super().__init__()
        self.code = nn.Sequential(nn.Conv1d(2, 4, 5, 2, 2), nn.BatchNorm1d(4), nn.SELU())
        self.back = nn.ConvTranspose1d(4, 2, 5, 2, 2, output_padding=1)

    def forward(self, x):
        return F.softplus(self.back(self.code(x)))


class SpatialTransformer(nn.Module):
    """An image at places that are computed from it."""

    def __init__(self):
        super().__init__()
        self.place = nn.Linear(2, 6)

    def forward(self, x):
        theta = self.place(x.mean((2, 3))).view(-1, 2, 3)
        height, width = x.shape[2:]
        rows = (torch.arange(height) * 2 + 1) / height - 1
        columns = (torch.arange(width) * 2 + 1) / width - 1
        rows, columns = torch.meshgrid(rows, columns, indexing="ij")
        places = torch.stack([columns, rows, torch.ones_like(rows)], 2).view(1, -1, 3)
        grid = (places @ theta.transpose(1, 2)).view(-1, height, width, 2)
        return F.grid_sample(x, grid, align_corners=False)


class Upscaling(nn.Module):
    """Interpolation of all kinds."""

    def forward(self, x):
        return (
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
            F.interpolate(x, size=(9, 7), mode="bilinear", align_corners=True),
        )


def super_resolution():
    return nn.Sequential(
        nn.Conv2d(1, 4, 5, padding=2), nn.Tanh(), nn.Conv2d(4, 9, 3, padding=1), nn.PixelShuffle(3)
    )  # fmt: skip


def encoder():
    layer = nn.TransformerEncoderLayer(8, 2, 12, 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Last(nn.Module):
    """Language model of transformers, without its record."""

    def __init__(self, net, field):
        super().__init__()
        self.net, self.field = net, field

    def forward(self, words, mask):
        return getattr(self.net(input_ids=words, attention_mask=mask), self.field)


def gpt():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=23, n_positions=32, n_embd=8, n_layer=2, n_head=2, use_cache=False,
        bos_token_id=0, eos_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return Last(GPT2LMHeadModel(config), "logits")


def bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=23, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
        max_position_embeddings=32, attn_implementation="eager",
    )  # fmt: skip
    return Last(BertModel(config), "last_hidden_state")


class Rotary(nn.Module):
    """Causal attention with rotated places, as in Llama."""

    def __init__(self):
        super().__init__()
        self.qkv, self.scale = nn.Linear(8, 24, bias=False), nn.Parameter(torch.randn(8))

    def forward(self, x):
        batch, n, width = x.shape
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q, k, v = self.qkv(x).view(batch, n, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        angles = torch.arange(n).float()[:, None] * torch.tensor([1.0, 0.01])
        angles = torch.cat([angles, angles], -1)
        q, k = (
            y * angles.cos() + torch.cat([-y[..., 2:], y[..., :2]], -1) * angles.sin() for y in (q, k)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(4)
        scores = scores.masked_fill(torch.ones(n, n).triu(1).bool(), float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, width)
